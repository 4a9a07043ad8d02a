#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure-kept-calls: measure what `record --profile` costs a call, and its bytes,
and what it costs a page fault of anonymous memory and a wake, of which it keeps none.

Runs inside a guest whose clock counts instructions. A task overwrites 200 bytes of a
file again and again, which stays in memory: under the compiled tracer, under it with
each call kept, and under it where another process is chosen. Prints JSON: ns a call of
the quickest batch, CPU time of the tracer a call, and bytes a call in the
events.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import sys
import time
from pathlib import Path

import lab

CALLS, BATCHES, ROUNDS = 1_000, 10, 1
SETTLES_S = 4.0
QUICKEST = ("ns", "fault_ns", "wake_ns")
KEPT = ("--calls-mib", "64", "--series-ms", "100")
WAYS = {
    "none": None,
    "core": (),
    "kept": (*KEPT, "--pid", str(os.getpid())),
    "of another": (*KEPT, "--pid", "1000000"),
}


def cpu_s(pid: int) -> float:
    """Time on a CPU of a process and its children that are there."""
    tasks = (pid, *lab.descendants(pid))
    found = (Path(f"/proc/{one}/schedstat").read_text().split()[0] for one in tasks)
    return sum(map(int, found)) / 1e9


def per_call_ns(fd: int) -> float:
    """Of the quickest batch: a tracer's own programs are at work now and then."""
    found = []
    for _ in range(BATCHES):
        begun_ns = time.monotonic_ns()
        for turn in range(CALLS):
            os.pwrite(fd, b"x" * 200, turn * 200)
        found.append((time.monotonic_ns() - begun_ns) / CALLS)
    return min(found)


def per_fault_ns() -> float:
    """Of a first store to a page of anonymous memory, in the quickest batch."""
    found = []
    for _ in range(BATCHES):
        with mmap.mmap(-1, CALLS * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            begun_ns = time.monotonic_ns()
            for at in range(0, CALLS * mmap.PAGESIZE, mmap.PAGESIZE):
                memory[at] = 1
            found.append((time.monotonic_ns() - begun_ns) / CALLS)
    return min(found)


def per_wake_ns() -> float:
    """Of a wake of another process, and by it, over a pipe each, in the quickest batch:
    two wakes, four calls on pipes."""
    (there_read, there), (back, back_write) = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        for _ in range(BATCHES * CALLS):
            os.write(back_write, os.read(there_read, 1))
        os._exit(0)
    found = []
    for _ in range(BATCHES):
        begun_ns = time.monotonic_ns()
        for _ in range(CALLS):
            os.write(there, b"x")
            os.read(back, 1)
        found.append((time.monotonic_ns() - begun_ns) / CALLS)
    os.waitpid(pid, 0)
    for end in (there_read, there, back, back_write):
        os.close(end)
    return min(found)


def settle() -> None:
    """Let time pass without a sleep that would be listed."""
    until_s = time.monotonic() + SETTLES_S
    while time.monotonic() < until_s:
        pass


def kept(events: list[lab.Event]) -> tuple[int, int]:
    """How many calls were kept, and the bytes of their lines."""
    rows = [one for one in events if one["ev"] == "calls"]
    size = sum(len(json.dumps(one, separators=(",", ":"))) + 1 for one in rows)
    return sum(one["count"] for one in rows), size


def measure_way(
    options: argparse.Namespace, fd: int, words: tuple[str, ...] | None
) -> dict[str, float]:
    """One stretch of calls in one of the ways."""
    engines = () if words is None else (lab.CORE,)
    with lab.tracing(options.modules, engines, *(words or ())) as tracers:
        settle()
        busy_s = sum(cpu_s(one.process.pid) for one in tracers)
        took_ns, fault_ns = per_call_ns(fd), per_fault_ns()
        settle()
        busy_s = sum(cpu_s(one.process.pid) for one in tracers) - busy_s
        wake_ns = per_wake_ns()
        count, size = kept([event for one in tracers for event in one.stop()])
    size_each = round(size / count, 2) if count else 0
    row: dict[str, float] = {"ns": round(took_ns), "fault_ns": round(fault_ns)}
    row |= {"wake_ns": round(wake_ns)}
    row |= {"tracer_us": round(busy_s * 1e6 / CALLS / BATCHES, 2)}
    return row | {"kept": count, "bytes": size_each}


def measure(options: argparse.Namespace) -> None:
    found: dict[str, dict[str, float]] = {}
    with lab.disk():
        fd = os.open(lab.MOUNT / "file", os.O_RDWR | os.O_CREAT)
        try:
            os.pwrite(fd, bytes(4096 * 200), 0)
            os.fsync(fd)
            for name, words in [*WAYS.items()] * ROUNDS:
                row = measure_way(options, fd, words)
                best = found.setdefault(name, row)
                best |= row | {key: min(best[key], row[key]) for key in QUICKEST}
        finally:
            os.close(fd)
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(lab.main(measure))
