#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will run each script without the launcher, with stap by the command in its
header, let it report an event, and stop it with Ctrl-C."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cases
import plain
import stap_cache

import lab

# The output shows that every probe is armed.
ARMED = '{"ev":"begin"'
STAP_ALONE = "drilldown"


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


def commands(script: Path, modules: Path) -> Iterator[list[str]]:
    """The commands of a script, by engine."""
    yield plain.command(script, os.uname().release)
    if script.stem != STAP_ALONE and lab.CORE in lab.serving():
        yield [lab.parts(lab.CORE, script.stem, modules)[1], script.stem]


def check(
    words: list[str], script: Path, given: dict[str, str], disk: lab.Disk
) -> None:
    """Run a command from the root of the tree and check what it prints."""
    who = f"{Path(words[0]).name} {script.stem}"
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
            return what in Path(rows.name).read_text()

        try:
            if script.stem == STAP_ALONE:
                lab.until(choose_root)
            lab.until(lambda: printed(ARMED))
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
    lab.expect(found[-1]["ev"] == "end", f"{who} ended with {found[-1]}")


def test(options: argparse.Namespace) -> None:
    given = stap_cache.environment(options.modules)
    with lab.disk() as disk:
        for script in sorted(lab.PROJECT.glob("stap/*.stp")):
            for words in commands(script, options.modules):
                check(words, script, given, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
