#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will run each script by the command in its header, without the launcher,
have it report an event, and end it with Ctrl-C.

stap compiles for more than ten minutes on an emulated CPU, so passes 1 to 4 of its
commands were done outside, in the image (lab/driver/artefacts.py, the part "plain"):
staprun is its fifth pass.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import cases
import plain

import lab

# How an engine's output shows that every probe is armed.
ARMED = {"stap": '{"ev":"begin"', "bpftrace": '"limits"'}
FOLDER = {"stap": "stap/*.stp", "bpftrace": "bpf/*.bt"}


def command(engine: str, script: Path, modules: Path) -> list[str]:
    """Return the command of the header, or the last pass of stap's."""
    if engine == "bpftrace":
        return plain.command(script, os.uname().release)
    (made,) = modules.with_name("plain").glob(f"{script.stem}/*.ko")
    return ["staprun", "-R", str(made)]


def choose_root() -> bool:
    """Do what the header of drilldown.stp says; False: it is not loaded yet."""
    for ready in Path("/sys/module").glob("stap_*/parameters/ready"):
        ready.with_name("function").write_text("vfs_write")
        ready.write_text("Y")
        return True
    return False


def parse(line: str, who: str) -> lab.Event:
    """Parse a line of a script's output."""
    try:
        event: lab.Event = json.loads(line)
    except ValueError:
        raise lab.FoundError(f"{who} printed: {line!r}") from None
    return event


def check(engine: str, script: Path, words: list[str], disk: lab.Disk) -> None:
    """Run a command from the root of the tree and check what it prints."""
    who = f"{engine} {script.stem}"
    with tempfile.TemporaryFile("w+") as said, tempfile.NamedTemporaryFile() as rows:
        process = subprocess.Popen(
            words, cwd=lab.PROJECT, stdout=rows, stderr=said, process_group=0
        )

        def printed(what: str) -> bool:
            said.seek(0)
            alive = process.poll() is None
            lab.expect(alive, f"{who} ended: {said.read().splitlines()[-3:]}")
            return what in Path(rows.name).read_text().replace(": ", ":")

        try:
            if script.stem == "drilldown":
                lab.until(choose_root)
            lab.until(lambda: printed(ARMED[engine]))
            cases.happen(disk)
            kind = cases.REPORTS[script.stem]
            lab.until(lambda: printed(f'"ev":"{kind}"'))
            os.killpg(process.pid, signal.SIGINT)
            status = process.wait(lab.ARMED_WITHIN_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        lab.expect(status == 0, f"{who} ended with {status}")
        lines = Path(rows.name).read_text().splitlines()
    found = [parse(line, who) for line in lines if line]
    if engine == "stap":
        lab.expect(found[-1]["ev"] == "end", f"{who} ended with {found[-1]}")


def test(options: argparse.Namespace) -> None:
    with lab.disk() as disk:
        for engine in lab.serving():
            for script in sorted(lab.PROJECT.glob(FOLDER[engine])):
                check(engine, script, command(engine, script, options.modules), disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
