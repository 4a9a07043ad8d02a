#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will let all engines trace eleven stalls of three tasks at the same time
and find the same stalled writes, durations within 1 ms or 1 %, the same sleeps and the
same slow bios."""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial

import lab

LENGTHS_S = (0.11, 0.13, 0.17, 0.19, 0.23, 0.29, 0.31, 0.37, 0.41, 0.43, 0.47)
WRITERS = 3
STALL_US = 100_000
# A sleep this far above the floor is an event for both engines.
CLEAR_NS = 3_000_000
MARGIN_NS = 1_000_000
# Each engine reads its own clock, one after the other. If the host suspends the CPU in
# between, their times differ by that: one in ten sleeps of a few milliseconds may
# differ for this reason.
SHORT_SLEEPS_CLOSE = 0.9
STARTS_WITHIN_NS = 20_000_000


def write_once(name: str) -> None:
    fd = os.open(lab.MOUNT / name, os.O_WRONLY | os.O_APPEND | os.O_DSYNC)
    os.write(fd, b"x" * 200)


def workload(disk: lab.Disk) -> list[int]:
    """One round of stalled writers for each duration; return all their pids."""
    names = [f"writer{i}.log" for i in range(WRITERS)]
    for name in names:
        (lab.MOUNT / name).write_bytes(b"y" * 200)
    os.sync()
    pids = []
    for hold_s in LENGTHS_S:
        with disk.stalled():
            now = [lab.child(partial(write_once, name)) for name in names]
            for pid in now:
                lab.wait_blocked(pid)
            time.sleep(hold_s)
        lab.expect(not any([lab.reap(pid) for pid in now]), "a writer failed")
        pids += now
    return pids


def close(a_ns: int, b_ns: int) -> bool:
    return abs(a_ns - b_ns) <= max(MARGIN_NS, max(a_ns, b_ns) // 100)


def agree_on_writes(one: list[lab.Event], other: list[lab.Event]) -> None:
    """Same writes in the same order; all durations within the margin."""
    keys = ("tid", "call", "fd", "dev", "ino", "path", "offset", "bytes", "ret")
    lab.expect(len(one) == len(other), f"{len(one)} and {len(other)} writes")
    for a, b in zip(one, other, strict=True):
        for key in keys:
            lab.expect(a[key] == b[key], f"write {key}: {a[key]} and {b[key]}")
        for key in ("dur_ns", "slept_ns"):
            lab.expect(close(a[key], b[key]), f"write {key}: {a[key]} and {b[key]}")


def twin(event: lab.Event, others: list[lab.Event]) -> lab.Event:
    """The same sleep in the other engine's events."""
    for other in others:
        if (
            all(event[key] == other[key] for key in ("tid", "kstack"))
            and abs(event["t_ns"] - other["t_ns"]) < STARTS_WITHIN_NS
        ):
            return other
    raise lab.FoundError(f"only one engine saw {event}")


def agree_on_blocks(one: list[lab.Event], other: list[lab.Event]) -> None:
    """Every clear sleep of one is in the other, with a duration within the margin."""
    pairs = [(e, twin(e, b)) for a, b in ((one, other), (other, one)) for e in clear(a)]
    far = [(a, b) for a, b in pairs if not close(a["dur_ns"], b["dur_ns"])]
    lab.expect(
        len(far) <= (1 - SHORT_SLEEPS_CLOSE) * len(pairs),
        f"{len(far)} of {len(pairs)} sleeps differ, the first: {far[:1]}",
    )
    for a, b in pairs:
        lab.expect(a["waker_ctx"] == b["waker_ctx"], f"woken from {a} and {b}")


def held_ios(events: list[lab.Event]) -> list[tuple[object, ...]]:
    """What the events tell of the bios that the disk held, but their times."""
    keys = ("tid", "comm", "dev", "op", "flags", "sector", "bytes")
    long = [e for e in events if e["ev"] == "io" and e["dur_ns"] >= STALL_US * 1000]
    return sorted(tuple(str(event[key]) for key in keys) for event in long)


def in_order(disk: lab.Disk, events: list[lab.Event]) -> list[lab.Event]:
    return sorted(lab.writes_to(disk, events), key=lambda e: int(e["tid"]))


def blocks(events: list[lab.Event], tids: set[int]) -> list[lab.Event]:
    return [e for e in events if e["ev"] == "block" and e["tid"] in tids]


def clear(events: list[lab.Event]) -> list[lab.Event]:
    return [e for e in events if e["dur_ns"] >= CLEAR_NS]


def test(options: argparse.Namespace) -> None:
    limit = ("--stall-us", str(STALL_US), "--call", "writes")
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving(), *limit) as tracers,
    ):
        tids = set(workload(disk))
        first, *others = (tracer.stop() for tracer in tracers)
        lab.expect(bool(others), "one engine has nobody to agree with")
        expected = WRITERS * len(LENGTHS_S)
        found = len(lab.writes_to(disk, first))
        lab.expect(found == expected, f"{found} writes, not {expected}")
        for other in others:
            agree_on_writes(in_order(disk, first), in_order(disk, other))
            ios = held_ios(first), held_ios(other)
            lab.expect(ios[0] == ios[1] != [], f"bios: {ios}")
            print(f"{len(ios[0])} bios, the last {ios[0][-1]}")
            agree_on_blocks(blocks(first, tids), blocks(other, tids))


if __name__ == "__main__":
    sys.exit(lab.main(test))
