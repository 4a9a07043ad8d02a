#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will trace calls that stall while other threads close, replace and unlink
their files, on ext4 and on a shared folder, and find the calls; the kernel must not
complain. Each of --cycles is a stall of the disk."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import lab

SOURCE = Path(__file__).with_name("storms.c")
STALL_US = 2000
HOLD_S = 0.2
# Others may be found as well, by chance.
FOUND = {"write", "fsync", "close", "unlink"}


def build(folder: Path) -> Path:
    program = folder / "storms"
    lab.run("gcc", "-O2", "-pthread", "-o", program, SOURCE)
    return program


def rage(disk: lab.Disk, program: Path, cycles: int) -> None:
    """Stall the disk again and again below the storms."""
    with subprocess.Popen([program, lab.MOUNT, SOURCE]) as process:
        try:
            for _ in range(cycles):
                with disk.stalled():
                    time.sleep(HOLD_S)
                time.sleep(HOLD_S)
                lab.expect(process.poll() is None, "the storms have ended")
        finally:
            process.kill()


def check(tracer: lab.Tracer, disk: lab.Disk) -> None:
    """More may happen at once than can be printed: that is said, and no failure."""
    tracer.process.send_signal(signal.SIGINT)
    status = tracer.process.wait(lab.ARMED_WITHIN_S)
    lab.expect(status == 0, f"{tracer.engine} ended with {status}")
    events = tracer.events()
    calls = Counter(event["call"] for event in lab.writes_to(disk, events))
    lab.expect(set(calls) >= FOUND, f"found {calls}, not all of {FOUND}")
    named = [e["path"] for e in lab.writes_to(disk, events) if e["path"]]
    ours = sum(path.startswith("lab/") for path in named)
    print(f"{tracer.engine}: {calls}; {ours} of {len(named)} named files of the folder")


def test(options: argparse.Namespace) -> None:
    limits = ("--stall-us", str(STALL_US), "--floor-us", str(STALL_US))
    with (
        tempfile.TemporaryDirectory() as folder,
        lab.disk() as disk,
        lab.tracing(options.modules, ("stap",), *limits) as tracers,
    ):
        rage(disk, build(Path(folder)), options.cycles)
        for tracer in tracers:
            check(tracer, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
