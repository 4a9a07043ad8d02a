#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall five writes and two fsyncs, and check that slow_writes reports
the same ones as ext4slower of libbpf-tools, and stalled_writes the same sleep as its
offcputime, with both engines, all at the same time."""

from __future__ import annotations

import argparse
import csv
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lab

HOLDS_S = (0.23, 0.31, 0.37, 0.41, 0.47, 0.29, 0.43)
WRITES = 5  # of these; the rest are fsyncs
STALL_MS = 200
MARGIN_NS = 1_000_000
# What offcputime prints after each stack: the task, then the microseconds.
OFF_CPU = re.compile(r"^ +- +.* \((\d+)\)\n +(\d+)$", re.MULTILINE)
Calls = dict[tuple[object, ...], int]  # pid, type, bytes, offset, file: ns


class Witness:
    """A running tool of libbpf-tools, its output in a file."""

    def __init__(self, tool: str, *options: str) -> None:
        self._output = Path(f"/tmp/{tool}-{os.getpid()}")
        command = [f"{tool}-libbpf", *options]
        with self._output.open("w") as file:
            self.process = subprocess.Popen(command, stdout=file)

    def wait_armed(self) -> None:
        """Return once it has BPF links, and their number has not grown for a while."""
        seen: list[int] = [0]

        def settled() -> bool:
            lab.expect(self.process.poll() is None, f"{self.process.args!r} ended")
            seen.append(self._links())
            return seen[-1] > 0 and len(set(seen[-100:])) == 1

        lab.until(settled)

    def _links(self) -> int:
        folder = Path(f"/proc/{self.process.pid}/fdinfo")
        return sum("link_type:" in lab.contents(info) for info in folder.iterdir())

    def stop(self) -> str:
        """Stop it, and return all that it printed."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=lab.ARMED_WITHIN_S)
        return self._output.read_text()


@contextmanager
def witnesses() -> Iterator[tuple[Witness, Witness]]:
    """ext4slower and offcputime, armed; stopped at the end in any case."""
    slower = Witness("ext4slower", "--csv", "--min", str(STALL_MS))
    asleep = Witness("offcputime", "--state", "2")
    try:
        slower.wait_armed()
        asleep.wait_armed()
        yield slower, asleep
    finally:
        for witness in (slower, asleep):
            witness.process.kill()
            witness.process.wait()


def write(path: Path, number: int) -> None:
    """A part of a page that must be read first. Not synchronous: ext4slower forgets a
    write that calls fsync itself (libbpf-tools/fsslower.bpf.c: a task's one start)."""
    os.pwrite(os.open(path, os.O_RDWR), b"w" * (200 + number), 7 + number)


def sync(path: Path, _: int) -> None:
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)


def stall(disk: lab.Disk, number: int, hold_s: float) -> int:
    """One call on its own file, held; return the pid of the task."""
    path = lab.unread(f"{number}.log")
    body: Callable[[Path, int], None] = write
    if number >= WRITES:
        path.write_bytes(b"s" * 200)
        body = sync
    return lab.stalled_child(disk, lambda: body(path, number), hold_s)


def seen_by_ext4slower(text: str, pids: list[int]) -> Calls:
    found = {}
    for row in csv.DictReader(text[text.index("ENDTIME") :].splitlines()):
        pid, kind = int(row["PID"]), row["TYPE"]
        if pid in pids and kind in "WF":
            place = (row["BYTES"], row["OFFSET_b"])
            found[identity(pid, kind, row["FILE"], *place)] = (
                int(row["LATENCY_us"]) * 1000
            )
    return found


def identity(
    pid: int, kind: str, name: str, count: object, offset: object
) -> tuple[object, ...]:
    """The identity of a call; for an fsync ext4slower prints a range."""
    if kind == "F":
        return (pid, kind, name)
    return (pid, kind, name, int(str(count)), int(str(offset)))


def of_others(disk: lab.Disk, events: list[lab.Event]) -> list[lab.Event]:
    """The `write` events on the disk without those of this task, which prepares the
    files."""
    return [e for e in lab.writes_to(disk, events) if e["pid"] != os.getpid()]


def seen_by_slow_writes(tracer: lab.Tracer, disk: lab.Disk) -> Calls:
    return {
        identity(
            event["pid"],
            "F" if event["call"] == "fsync" else "W",
            Path(event["path"]).name,
            event["ret"],
            event["offset"],
        ): event["dur_ns"]
        for event in of_others(disk, tracer.stop())
    }


def close(a_ns: int, b_ns: int) -> bool:
    return abs(a_ns - b_ns) <= max(MARGIN_NS, max(a_ns, b_ns) // 100)


def agree(who: str, ours: Mapping[Any, int], theirs: Mapping[Any, int]) -> None:
    """The same keys, and durations within the margin."""
    lab.expect(ours.keys() == theirs.keys(), f"{who}: {ours}, not {theirs}")
    far = {
        key: (ours[key], theirs[key])
        for key in ours
        if not close(ours[key], theirs[key])
    }
    lab.expect(not far, f"{who}: ours and theirs, in ns: {far}")
    apart_ns = max(abs(ours[key] - theirs[key]) for key in ours)
    print(f"{who}: {len(ours)} agree, at most {apart_ns / 1e3:.0f} us apart")


def slept(events: list[lab.Event], pids: list[int]) -> dict[object, int]:
    """How long each task was off the CPU for its sleeps, in ns."""
    found: dict[object, int] = defaultdict(int)
    for event in events:
        if event["ev"] == "block" and event["tid"] in pids:
            found[event["tid"]] += event["dur_ns"] + event["runq_ns"]
    return dict(found)


def off_cpu(text: str, pids: list[int]) -> dict[object, int]:
    """The same, as offcputime counts it."""
    found: dict[object, int] = defaultdict(int)
    for tid, time_us in OFF_CPU.findall(text):
        if int(tid) in pids:
            found[int(tid)] += int(time_us) * 1000
    return dict(found)


def test(options: argparse.Namespace) -> None:
    stall_us = ("--stall-us", str(STALL_MS * 1000))
    given = (options.modules, lab.ENGINES, *stall_us)
    with (
        lab.disk() as disk,
        lab.tracing(*given, script="slow_writes") as exact,
        lab.tracing(*given, "--floor-us", "1") as sleepers,
        witnesses() as (slower, asleep),
    ):
        pids = [stall(disk, number, hold_s) for number, hold_s in enumerate(HOLDS_S)]
        theirs = seen_by_ext4slower(slower.stop(), pids)
        lab.expect(len(theirs) == len(HOLDS_S), f"ext4slower saw {theirs} only")
        for tracer in exact:
            agree(
                f"slow_writes, {tracer.engine}",
                seen_by_slow_writes(tracer, disk),
                theirs,
            )
        times = off_cpu(asleep.stop(), pids)
        lab.expect(times.keys() == set(pids), f"offcputime saw {times} only")
        for tracer in sleepers:
            events = tracer.stop()
            stalled = {event["tid"] for event in of_others(disk, events)}
            lab.expect(
                stalled == set(pids), f"{tracer.engine} saw {stalled}, not {pids}"
            )
            agree(f"stalled_writes, {tracer.engine}", slept(events, pids), times)


if __name__ == "__main__":
    sys.exit(lab.main(test))
