#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall the thirteen requests of io_uring and AIO that the kernel has,
each once, among short ones, and find exactly one `write` event for each, of the task
that executed it, with file, offset and bytes, and null for what the kernel does not
show."""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asynchronous as aio

import lab

HOLD_S = 0.3
STALL_US = 200_000
SHORT_ONES = 3
BYTES = 200
OFFSET = 4103  # inside a page
PARTS = [b"v" * 50, b"v" * (BYTES - 50)]
SOURCE = lab.MOUNT / "source"
Request = Callable[[int, int], None]
# Since when a kernel has them: 2b188cc1bb85, "Add io_uring IO interface", 3a6820f2bb8a,
# "io_uring: add non-vectored read/write commands", and a3c0d439e4d9, "aio: implement
# IOCB_CMD_FSYNC and IOCB_CMD_FDSYNC".
URING, URING_WRITE, AIO_FSYNC = (5, 1), (5, 6), (4, 18)


def uring(op: int) -> Request:
    """An io_uring request, at an offset of a descriptor."""

    def do(fd: int, offset: int) -> None:
        ring = aio.Ring()
        data = ctypes.create_string_buffer(BYTES)
        iov, buffers = aio.vector(PARTS)
        ring.register(data, BYTES)
        where = {aio.FSYNC: (0, 0, 0), aio.WRITEV: (aio.address(iov), 2, offset)}
        default = (aio.address(data), BYTES, offset)
        done = ring.do(op, fd, *where.get(op, default))
        want = 0 if op == aio.FSYNC else BYTES
        lab.expect(done == want, f"{op} returned {done}, {len(buffers)} buffers")

    return do


def submitted(*ops: int) -> Request:
    """These AIO requests in one io_submit(2), at consecutive offsets."""

    def do(fd: int, offset: int) -> None:
        data = ctypes.create_string_buffer(BYTES)
        iov, buffers = aio.vector(PARTS)
        where = {
            aio.PWRITE: (aio.address(data), BYTES),
            aio.PWRITEV: (aio.address(iov), 2),
        }
        iocbs = [
            aio.Iocb(op, fd, *where.get(op, (0, 0)), offset=(op in where) * place)
            for place, op in enumerate(ops, offset)
        ]
        done = aio.submit(iocbs)
        want = [BYTES if op in where else 0 for op in ops]
        lab.expect(done == want, f"{ops} returned {done}, {len(buffers)} buffers")

    return do


def from_the_disk(op: int) -> Request:
    """An io_uring write past the page cache, of data that must be read first: what
    io_uring_enter(2) runs itself then sleeps, because io_write() requests the data."""

    def do(fd: int, _: int) -> None:
        ring = aio.Ring()
        data = mmap.mmap(os.open(SOURCE, os.O_RDWR), lab.PAGE)
        iov = (ctypes.c_ulong * 2)(
            aio.address(ctypes.c_char.from_buffer(data)), lab.PAGE
        )
        at, length = (aio.address(iov), 1) if op == aio.WRITEV else iov
        done = ring.do(op, fd, at, length, lab.PAGE)
        lab.expect(done == lab.PAGE, f"{op} returned {done}")

    return do


@dataclass(frozen=True)
class Case:
    """A request, the function its task sleeps below, and what an event must say."""

    call: str
    do: Request
    below: str
    offset: int | None = OFFSET
    bytes: int | None = BYTES
    flags: int = 0
    has_fd: bool = True
    has_file: bool = True
    since: tuple[int, int] = (0, 0)

    @property
    def seen(self) -> bool:
        """Before 6.0 no header defines the request of a worker."""
        by_worker = self.call.startswith("io_uring_") and self.has_fd
        return lab.release() >= (6, 0) or not by_worker

    @property
    def syncs(self) -> bool:
        return "sync" in self.call


def since(op: int) -> tuple[int, int]:
    """When io_uring got that request."""
    return URING_WRITE if op == aio.WRITE else URING


def write(call: str, op: int, **more: Any) -> Case:
    return Case(call, uring(op), "io_write", since=since(op), **more)


def inline(op: int) -> Case:
    do = from_the_disk(op)
    unknown: dict[str, Any] = {
        "offset": None,
        "bytes": None,
        "has_fd": False,
        "has_file": False,
        "since": since(op),
    }
    return Case("io_uring_enter", do, "io_write", **unknown, flags=os.O_DIRECT)


def worker_sync(call: str, op: int) -> Case:
    unknown: dict[str, Any] = {"offset": None, "bytes": None, "has_fd": False}
    return Case(call, submitted(op), "aio_fsync_work", **unknown, since=AIO_FSYNC)


# Where io_fsync() may be inlined, its caller (fs/io_uring.c): that of 5.10, of 5.4.
CALLER = "io_issue_sqe" if lab.release() >= (5, 5) else "__io_submit_sqe"
FSYNC_BELOW = "io_fsync" if lab.release() >= (6, 0) else CALLER
# 95af8496ac48, "aio: shift copyin of iocb into io_submit_one()": before, it is inlined
# (fs/aio.c).
AIO_BELOW = "io_submit_one" if lab.release() >= (4, 18) else "do_io_submit"
EVERY = (
    write("io_uring_write", aio.WRITE),
    write("io_uring_writev", aio.WRITEV),
    write("io_uring_write_fixed", aio.WRITE_FIXED),
    write("io_uring_write", aio.WRITE, offset=None, flags=os.O_DSYNC),
    Case("io_uring_fsync", uring(aio.FSYNC), FSYNC_BELOW, None, None, since=URING),
    inline(aio.WRITE),
    inline(aio.WRITEV),
    Case("aio_write", submitted(aio.PWRITE), AIO_BELOW),
    Case("aio_writev", submitted(aio.PWRITEV), AIO_BELOW),
    Case("aio_write", submitted(*[aio.PWRITE] * 3), AIO_BELOW, None, None),
    Case(
        "io_submit",
        submitted(aio.PWRITEV, aio.PWRITE),
        AIO_BELOW,
        *(None, None),
        has_fd=False,
        has_file=False,
    ),
    worker_sync("aio_fsync", aio.AIO_FSYNC),
    worker_sync("aio_fdatasync", aio.AIO_FDSYNC),
)
CASES = [case for case in EVERY if case.since <= lab.release()]


def prepared(case: Case, number: int) -> int:
    """A file of four pages on the disk and none in memory, or one to be synced."""
    path = lab.unread(f"{number}.log", pages=4)
    lab.unread(SOURCE.name, pages=4)

    def short_ones() -> None:
        fd = os.open(path, os.O_RDWR | case.flags)
        for _ in range(SHORT_ONES):
            case.do(fd, 0)

    lab.expect(lab.reap(lab.child(short_ones)) == 0, f"a short {case.call} failed")
    for file in (path, SOURCE):
        lab.unread(file.name, pages=4)
    fd = os.open(path, os.O_RDWR | case.flags)
    if case.syncs:
        os.pwrite(fd, b"z" * BYTES, 0)
    return fd


def blocked_below(function: str) -> int:
    """The only task that keeps sleeping below a function; its thread id."""
    found: list[int] = []

    def one() -> bool:
        stacks = Path("/proc").glob("[0-9]*/task/[0-9]*/stack")
        found[:] = [int(s.parent.name) for s in stacks if function in lab.contents(s)]
        return len(found) == 1

    lab.until(one)
    lab.wait_blocked(found[0])
    return found[0]


def stall(disk: lab.Disk, number: int, case: Case) -> dict[str, object]:
    """One request on its own file, held for HOLD_S; return the fields that its event
    must have."""
    fd = prepared(case, number)
    with disk.stalled():
        pid = lab.child(lambda: case.do(fd, OFFSET))
        tid = blocked_below(case.below)
        time.sleep(HOLD_S)
    lab.expect(lab.reap(pid) == 0, f"{case.call} failed")
    os.close(fd)
    return {
        "call": case.call,
        "tid": tid,
        "pid": tid if case.below == "aio_fsync_work" else pid,
        "fd": fd if case.has_fd else None,
        "dev": disk.dev if case.has_file else None,
        "path": f"lab/{number}.log" if case.has_file else None,
        "offset": case.offset,
        "bytes": case.bytes,
        "ret": None,
    }


def check(tracer: lab.Tracer, disk: lab.Disk, wanted: list[dict[str, object]]) -> None:
    """Exactly the wanted events, on this disk or on an unknown one, in order."""
    events = [
        event
        for event in tracer.stop()
        if event["ev"] == "write"
        and event["dev"] in (disk.dev, None)
        and event["tid"] != os.getpid()  # what made the files
    ]
    who = tracer.engine
    found = [event["call"] for event in events]
    rows = [row for row in zip(wanted, CASES, strict=True) if row[1].seen]
    calls = [case.call for _, case in rows]
    lab.expect(found == calls, f"{who} found {found}, not {calls}")
    for (want, case), event in zip(rows, events, strict=True):
        got = {name: event[name] for name in want}
        lab.expect(got == want, f"{who}: {got}, not {want}")
        frames = " ".join(event["kstack"])
        # with what a compiler adds to the name of a copy: .constprop.0
        asleep = re.search(rf"\b{case.below}(\.\w+)*\+", frames)
        lab.expect(asleep is not None, f"{who}: asleep in {frames}")
        for name in ("dur_ns", "slept_ns"):
            took_s = event[name] / 1e9
            lab.expect(took_s >= HOLD_S, f"{who}: {name} of {took_s} s: {event}")


def test(options: argparse.Namespace) -> None:
    limit = ("--stall-us", str(STALL_US))
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving(), *limit) as tracers,
    ):
        wanted = [stall(disk, number, case) for number, case in enumerate(CASES)]
        for tracer in tracers:
            check(tracer, disk, wanted)


if __name__ == "__main__":
    sys.exit(lab.main(test))
