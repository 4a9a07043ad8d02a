#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will have a task sync again and again with the same arguments, and neither
read nor write between, while another writes and the disk stalls; and sync several files
under one descriptor. Each engine must find each stalled call, with its own file and
about the time that the task measured, and no call of two."""

from __future__ import annotations

import argparse
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import lab

HOLD_S = 0.3
STALL_NS = 200_000_000
STALLS = 4
FILES = ("control", "md5sums", "postinst")
# An event begins with the first sleep, and ends with the last.
OFF_NS = 50_000_000
ROOM = 4096
ROW = struct.Struct("qq")  # of one call: which file, and its time in ns


class Board:
    """What the child measures, in memory of both: telling it takes no call."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, ROOM * ROW.size)
        self._count = 0

    def time(self, file: int, call: Callable[[], None]) -> None:
        begun_ns = time.monotonic_ns()
        call()
        took_ns = time.monotonic_ns() - begun_ns
        if took_ns >= STALL_NS:
            ROW.pack_into(self._memory, self._count * ROW.size, file, took_ns)
            self._count += 1

    def rows(self) -> list[tuple[int, int]]:
        every = (ROW.unpack_from(self._memory, i * ROW.size) for i in range(ROOM))
        return [row for row in every if row[1]]


def sync_one(board: Board, end: float) -> None:
    """Sync a file that the parent writes to, without a sleep of its own between."""
    fd = os.open(lab.MOUNT / FILES[0], os.O_RDWR)
    while time.monotonic() < end:
        board.time(0, partial(os.fsync, fd))


def sync_each(board: Board, end: float) -> None:
    """Sync one file after the other, each under the same descriptor."""
    while time.monotonic() < end:
        for i, name in enumerate(FILES):
            fd = os.open(lab.MOUNT / name, os.O_RDWR)
            board.time(i, partial(os.fdatasync, fd))
            os.close(fd)


@contextmanager
def syncing(body: Callable[[Board, float], None], board: Board) -> Iterator[None]:
    pid = lab.child(lambda: body(board, time.monotonic() + 2 * STALLS * HOLD_S + 1))
    try:
        yield
    finally:
        lab.expect(lab.reap(pid) == 0, "the child failed")


def stall(disk: lab.Disk) -> None:
    files = [os.open(lab.MOUNT / name, os.O_RDWR | os.O_CREAT) for name in FILES]
    for i in range(STALLS):
        with disk.stalled():
            for fd in files:
                os.pwrite(fd, b"x" * lab.PAGE, i * lab.PAGE)
            time.sleep(HOLD_S)
        time.sleep(HOLD_S)
    for fd in files:
        os.close(fd)


def check(tracer: lab.Tracer, disk: lab.Disk, board: Board, call: str) -> None:
    who = tracer.engine
    found = [e for e in lab.writes_to(disk, tracer.stop()) if e["call"] == call]
    names = [e["path"].rpartition("/")[2] for e in found]
    rows = board.rows()
    wanted = [FILES[file] for file, _ in rows]
    lab.expect(len(rows) >= STALLS - 1, f"only {len(rows)} calls stalled")
    lab.expect(names == wanted, f"{who} found {names}, and {wanted} stalled")
    for event, (_, took_ns) in zip(found, rows, strict=True):
        off_ns = abs(took_ns - event["dur_ns"])
        lab.expect(off_ns <= OFF_NS, f"{who}: {event['dur_ns']} ns, it took {took_ns}")


def test(options: argparse.Namespace) -> None:
    limit = ("--stall-us", str(STALL_NS // 1000))
    for body, call in ((sync_one, "fsync"), (sync_each, "fdatasync")):
        board = Board()
        with (
            lab.disk() as disk,
            lab.tracing(options.modules, lab.serving(), *limit) as tracers,
        ):
            for name in FILES:
                (lab.MOUNT / name).touch()
            with syncing(body, board):
                stall(disk)
            for tracer in tracers:
                check(tracer, disk, board, call)


if __name__ == "__main__":
    sys.exit(lab.main(test))
