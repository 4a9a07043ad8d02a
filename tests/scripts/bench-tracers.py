#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bench-tracers: measure the throughput of 200-byte writes under each tracer.

--bios measures that of bios instead: 4 KiB direct writes to a RAM disk. --locks has a
second task write to the same file all the time, so that writes wait for its lock.

Runs inside a guest. Each round arms every tracer once, between two intervals without
any, in a different order each time. Writes JSON: for every round the writes per second
with and without the tracer, over all of them, in the median run of some and in the
fastest tenth of such runs; how often it did not report a stall, which does not count;
or why a tracer could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import peers

import lab

STRETCH_MS = 2000
WRITES = 200  # measured together
# After a tracer has ended, throughput is as before, except for the noise of a busy
# host.
LEFT_ALONE = 0.5
RAM_DISK = Path("/dev/ram0")
SOURCE = Path(__file__).with_name("writeloop.c")
Rate = dict[str, float]  # writes per second


def build(folder: Path) -> Path:
    program = folder / "writeloop"
    lab.run("gcc", "-O2", "-o", program, SOURCE)
    return program


def rate(loop: list[str | Path]) -> Rate:
    """Writes per second over an interval; the command names the file."""
    measured = lab.run(*loop, str(STRETCH_MS), str(WRITES))
    took_ns = sorted(int(line) for line in measured.split())
    mean_ns = statistics.mean(took_ns)
    median_ns = statistics.median(took_ns)
    kinds = {
        "all": mean_ns,
        "median": median_ns,
        "fastest": took_ns[len(took_ns) // 10],
    }
    return {name: round(WRITES / ns * 1e9) for name, ns in kinds.items()}


@contextmanager
def another(loop: list[str | Path]) -> Iterator[None]:
    """The same loop beside it, until the end."""
    command = [*loop, str(10**9), str(WRITES)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def between(before: Rate, after: Rate) -> Rate:
    return {name: (before[name] + after[name]) / 2 for name in before}


def measure(
    loop: list[str | Path],
    disk: lab.Disk,
    tracers: list[peers.Tracer],
    found: dict[str, Any],
) -> None:
    """Add each tracer's rates of one round, or the reason why there are none."""
    before = rate(loop)
    for tracer in tracers:
        measured = found[tracer.name]
        if "reason" in measured:
            continue
        traced = None
        try:
            with peers.traced(tracer, disk, measured):
                traced = rate(loop)
        except peers.SilentError as error:
            traced = None
            measured["silent"] += 1
            print(f"{tracer.name}: {error}", file=sys.stderr, flush=True)
        except peers.AbsentError as error:
            traced = None
            measured["reason"] = str(error)
        after = rate(loop)
        left = after["median"] / before["median"]
        lab.expect(left > LEFT_ALONE, f"{tracer.name} left {left:.3f} behind it")
        untraced, before = between(before, after), after
        if traced:
            measured["rounds"].append({"traced": traced, "untraced": untraced})
            share = traced["all"] / untraced["all"]
            print(f"{tracer.name}: {share:.3f}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--bios", action="store_true")
    what.add_argument("--locks", action="store_true")
    parser.add_argument("--only", default="", help="tracers whose name matches")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    tracers = [peers.NOTHING, *peers.ours(options.modules), *peers.PEERS]
    tracers = [tracer for tracer in tracers if re.search(options.only, tracer.name)]
    found = {
        t.name: {"version": peers.version(t), "rounds": [], "silent": 0}
        for t in tracers
    }
    with lab.disk() as disk:
        loop: list[str | Path] = [build(Path("/tmp")), lab.MOUNT / "bench.log"]
        if options.bios:
            lab.run("modprobe", "brd", "rd_nr=1", "rd_size=65536")
            loop[1] = RAM_DISK
        rate(loop)  # allocates the file's blocks
        with another(loop) if options.locks else nullcontext():
            for _ in range(options.rounds):
                measure(loop, disk, tracers, found)
                tracers.append(tracers.pop(0))
                result = {"kernel": os.uname().release, "tracers": found}
                options.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(lab.status_of(main))
