#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will submit direct reads and writes so many at a time and so far apart, and
find each bio with how many were in flight and how far it was from the one before."""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import asynchronous
from asynchronous import PREAD, PWRITE, Iocb

import lab

HOLD_S, SLEEP_S = 0.3, 1.5
SECTORS = lab.PAGE // 512
# Operation and page, as they are submitted; sectors from the one of its kind before.
HELD = [
    *((PWRITE, page) for page in (0, 1, 2)),
    (PREAD, 500),
    (PWRITE, 3),
    (PWRITE, 100),
    (PREAD, 501),
    (PWRITE, 20),
]
GAPS = [None, 0, 0, None, 0, 96 * SECTORS, 0, -81 * SECTORS]
AT_ONCE, ROUNDS = 8, 50
# Of 1 to 8 bios in flight, by powers of 2.
IN_ROUND = {1: 1, 2: 2, 4: 4, 8: 1}
PLUGGED = 0.9  # a round's first bios wait for its last, where no task interrupts it
FAR, FAR_BOUND = 1000, 4096  # in pages, and the bound of its gaps in sectors
BLKZEROOUT, ZEROES = 0x127F, 16 << 20  # linux/fs.h
OPERATIONS = {PREAD: "read", PWRITE: "write"}
SERIES = "--series-ms", "100"


def submit(fd: int, bios: list[tuple[int, int]]) -> None:
    """A page each, of one call."""
    pages = [mmap.mmap(-1, lab.PAGE) for _ in bios]
    iocbs = [
        Iocb(op, fd, ctypes.addressof(ctypes.c_char.from_buffer(memory)), lab.PAGE, at)
        for memory, (op, page) in zip(pages, bios, strict=True)
        for at in (page * lab.PAGE,)
    ]
    done = asynchronous.submit(iocbs)
    lab.expect(set(done) == {lab.PAGE}, f"transferred {done}")


@contextmanager
def opened() -> Iterator[int]:
    fd = os.open(lab.DEVICE, os.O_RDWR | os.O_DIRECT)
    try:
        yield fd
    finally:
        os.close(fd)


def child(bios: list[tuple[int, int]]) -> int:
    """A task that submits them; its pid."""

    def body() -> None:
        with opened() as fd:
            submit(fd, bios)

    return lab.child(body)


def writes_forever() -> None:
    with opened() as fd, mmap.mmap(-1, lab.PAGE) as page:
        while True:
            os.pwrite(fd, page, 0)


def held(disk: lab.Disk, bios: list[tuple[int, int]]) -> int:
    """A task that submits them while the disk does none; its pid."""
    with disk.stalled():
        pid = child(bios)
        time.sleep(HOLD_S)
    lab.expect(lab.reap(pid) == 0, "a child failed")
    return pid


def alone_again(options: argparse.Namespace, disk: lab.Disk) -> None:
    """Those from before the tracer began, chained ones and many others are over."""
    with disk.stalled():
        early = child([(PWRITE, 7)] * 5)
        time.sleep(HOLD_S)
        tracer = lab.Tracer(lab.CORE, lab.STALLS, options.modules, *SERIES)
        tracer.wait_armed()
        first = child([(PWRITE, 9)])
        time.sleep(HOLD_S)
    lab.expect([lab.reap(pid) for pid in (early, first)] == [0, 0], "a child failed")
    with opened() as fd:
        fcntl.ioctl(fd, BLKZEROOUT, struct.pack("QQ", 0, ZEROES))
        submit(fd, [(PWRITE, page) for page in range(0, 256, 2)])
    last = held(disk, [(PWRITE, 11)])
    events = tracer.stop()
    for pid in (first, last):
        depths = [e["depth"] for e in events if e["ev"] == "io" and e["tid"] == pid]
        lab.expect(depths == [1], f"a bio by itself has depths {depths}")
    lab.expect(not any(e["ev"] == "io" and e["tid"] == early for e in events), "early")


def begins_under_load(options: argparse.Namespace, disk: lab.Disk) -> None:
    """No bio stays that was submitted while the probes were put in place."""
    load = lab.child(writes_forever)
    with lab.tracing(options.modules, (lab.CORE,), *SERIES) as (tracer,):
        os.kill(load, signal.SIGKILL)
        os.waitpid(load, 0)
        pid = held(disk, [(PWRITE, 3)])
        events = tracer.stop()
    depths = [e["depth"] for e in events if e["ev"] == "io" and e["tid"] == pid]
    lab.expect(depths == [1], f"begun under load: depths {depths}")


def each_has_its_place(options: argparse.Namespace, disk: lab.Disk) -> None:
    with lab.tracing(options.modules, (lab.CORE,), *SERIES) as (tracer,):
        pid = held(disk, HELD)
        events = tracer.stop()
    ios = [e for e in events if e["ev"] == "io" and e["tid"] == pid]
    found = [(e["op"], e["sector"] // SECTORS, e["depth"], e["gap"]) for e in ios]
    wanted = [
        (OPERATIONS[op], page, depth, gap)
        for depth, ((op, page), gap) in enumerate(zip(HELD, GAPS, strict=True), start=1)
    ]
    lab.expect(
        sorted(found, key=lambda one: one[2]) == wanted, f"{found}, not {wanted}"
    )


def counted(pairs: list[str]) -> Counter[int]:
    """COUNT by the bound before it; what is behind it is not of interest."""
    found = Counter[int]()
    for one in pairs:
        bound, count, *_ = map(int, one.split(":"))
        found[bound] += count
    return found


def windows_have_them(options: argparse.Namespace, disk: lab.Disk) -> None:

    with (
        opened() as fd,
        lab.tracing(options.modules, (lab.CORE,), *SERIES) as (tracer,),
    ):
        for turn in range(ROUNDS):
            submit(fd, [(PWRITE, turn * AT_ONCE + page) for page in range(AT_ONCE)])
            submit(fd, [(PREAD, turn % 2 * FAR)])
        time.sleep(SLEEP_S)
        events = [e for e in tracer.stop() if e.get("dev") == disk.dev]
    windows = [e for e in events if e["ev"] == "ios"]
    writes = [e for e in windows if e["op"] == "write"]
    late = [e for e in events if e["ev"] == "io" and e["op"] == "write"]
    depths = counted([pair for e in writes for pair in e["depths"]])
    depths.update(1 << e["depth"].bit_length() - 1 for e in late)
    total = sum(depths.values())
    lab.expect(total == ROUNDS * AT_ONCE, f"{total} writes have a depth")
    lab.expect(max(depths) == AT_ONCE, f"{AT_ONCE} at a time: {depths}")
    for depth, count in IN_ROUND.items():
        least, most = count * ROUNDS * PLUGGED, count * ROUNDS / PLUGGED
        lab.expect(least <= depths[depth] <= most, f"depth {depth}: {depths}")
    gaps = counted([pair for e in writes for pair in e["gaps"]])
    gaps.update(e["gap"] for e in late if e["gap"] is not None)
    lab.expect(gaps == {0: total - 1}, f"one after the other: {gaps}")
    reads = [e for e in windows if e["op"] == "read"]
    gaps = counted([pair for e in reads for pair in e["gaps"]])
    lab.expect(set(gaps) == {FAR_BOUND}, f"{FAR} pages apart: {gaps}")
    for e in writes:
        sums = [int(pair.split(":")[2]) for pair in e["depths"]]
        least = sum(ns * count for ns, count in counted(e["latencies"]).items())
        lab.expect(least <= sum(sums) <= 2 * least + 2048 * e["count"], f"sums of {e}")


def test(options: argparse.Namespace) -> None:
    with lab.device() as disk:
        each_has_its_place(options, disk)
        windows_have_them(options, disk)
        alone_again(options, disk)
        begins_under_load(options, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
