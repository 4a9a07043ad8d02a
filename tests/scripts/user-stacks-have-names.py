#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall fsync(2) of a program whose stack is known, and find its
functions in the user stack of the call, with every engine and both scripts; and after
the program was stripped, the file and the place in it. Before the call the program
waits for its input: the user stack of that sleep has its functions, too."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lab

HOLD_S = 0.3
STALL_US = 200_000
SOURCE = Path(__file__).with_name("known-stack.c")
WITH_WAITS = "stalled_writes"
SCRIPTS = (WITH_WAITS, "slow_writes")
NAMED = ("sync_it", "on_request", "main")
# A static function is in no table of a stripped program.
STRIPPED = ("known-stack",) * 3


def build(folder: Path) -> Path:
    program = folder / "known-stack"
    lab.run("gcc", "-O0", "-o", program, SOURCE)
    return program


@contextmanager
def stalled(disk: lab.Disk, program: Path) -> Iterator[int]:
    """Run the program, hold its one call for HOLD_S, and keep it; yields its pid."""
    command = [str(program), str(lab.MOUNT / "known.log")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout and process.stdin
        lab.expect(process.stdout.readline() == b"ready\n", "no line of the program")
        with disk.stalled():
            process.stdin.write(b"x")
            process.stdin.flush()
            lab.wait_blocked(process.pid)
            time.sleep(HOLD_S)
        yield process.pid
    lab.expect(process.returncode == 0, f"it ended with {process.returncode}")


def check(tracer: lab.Tracer, disk: lab.Disk, pid: int, names: tuple[str, ...]) -> None:
    events = [event for event in tracer.stop() if event.get("tid") == pid]
    (event,) = lab.writes_to(disk, events)
    who = f"{tracer.engine} {tracer.script}"
    found = event["ustack"]
    if tracer.script == WITH_WAITS:
        waits = [" ".join(e["ustack"]) for e in events if e.get("state") == "S"]
        outer = rf"{names[-1]}\+0x[0-9a-f]+ \[known-stack\]"
        lab.expect(any(re.search(outer, wait) for wait in waits), f"{who}: {waits}")
    for name, frame in zip(names, found, strict=False):
        form = rf"{name}\+0x[0-9a-f]+ \[known-stack\]"
        lab.expect(bool(re.fullmatch(form, frame)), f"{who}: {frame}, not {name}")
    lab.expect(len(found) >= len(names), f"{who}: {found}")
    print(f"{who}: {' < '.join(found)}")


def found(
    options: argparse.Namespace,
    disk: lab.Disk,
    program: Path,
    script: str,
    names: tuple[str, ...],
) -> None:
    limit = ("--stall-us", str(STALL_US))
    waits = ("--waits-comm", "known-stack") if script == WITH_WAITS else ()
    engines = lab.serving()
    with (
        lab.tracing(options.modules, engines, *limit, *waits, script=script) as tracers,
        stalled(disk, program) as pid,
    ):
        for tracer in tracers:
            check(tracer, disk, pid, names)


def test(options: argparse.Namespace) -> None:
    with lab.disk() as disk, tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for names in (NAMED, STRIPPED):
            for script in SCRIPTS:
                found(options, disk, program, script, names)
            lab.run("strip", program)


if __name__ == "__main__":
    sys.exit(lab.main(test))
