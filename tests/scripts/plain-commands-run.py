#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will run each script by the command in its header, without the launcher,
let it report an event, and stop it with Ctrl-C."""

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
import stap_cache

import lab

# How an engine's output shows that every probe is armed.
ARMED = {"stap": '{"ev":"begin"', "bpftrace": '"limits"'}
FOLDER = {"stap": "stap/*.stp", "bpftrace": "bpf/*.bt"}


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


def check(engine: str, script: Path, given: dict[str, str], disk: lab.Disk) -> None:
    """Run the header's command from the root of the tree and check what it prints."""
    who = f"{engine} {script.stem}"
    words = plain.command(script, os.uname().release)
    with tempfile.TemporaryFile("w+") as said, tempfile.NamedTemporaryFile() as rows:
        process = subprocess.Popen(
            words,
            cwd=lab.PROJECT,
            env=given,
            stdout=rows,
            stderr=said,
            process_group=0,
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
    given = stap_cache.environment(options.modules)
    with lab.disk() as disk:
        for engine in lab.serving():
            for script in sorted(lab.PROJECT.glob(FOLDER[engine])):
                check(engine, script, given, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
