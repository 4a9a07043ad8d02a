#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold a direct write, a sync's pages and the flusher's, and find each
bio once, with the task that submitted it, its length, operation and place; and a write
of XFS's log with its flags."""

from __future__ import annotations

import argparse
import mmap
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lab

HOLD_S = 0.4
DIRECT_BYTES = 8 * lab.PAGE
SYNC_BYTES = 16 * lab.PAGE
FLUSHED_BYTES = 32 * lab.PAGE
WRITEBACK = Path("/proc/sys/vm")


def writes_directly(path: Path) -> Callable[[], None]:
    """A task that writes past the page cache, in place."""

    def body() -> None:
        data = mmap.mmap(-1, DIRECT_BYTES)
        os.pwrite(os.open(path, os.O_RDWR | os.O_DIRECT), data, 0)

    return body


def syncs(path: Path) -> Callable[[], None]:
    """A task that overwrites cached pages and syncs them."""

    def body() -> None:
        fd = os.open(path, os.O_RDWR)
        os.pwrite(fd, b"y" * SYNC_BYTES, 0)
        os.fdatasync(fd)

    return body


def flush_soon() -> None:
    """The flusher looks ten times a second, and takes all that is dirty."""
    (WRITEBACK / "dirty_expire_centisecs").write_text("1")
    (WRITEBACK / "dirty_writeback_centisecs").write_text("10")


def held(disk: lab.Disk) -> tuple[int, int]:
    """A direct write, a sync and the flusher at once; the pids of the first two."""
    paths = [lab.unread(name) for name in ("direct", "synced", "flushed")]
    flush_soon()
    with disk.stalled():
        pids = [lab.child(writes_directly(paths[0])), lab.child(syncs(paths[1]))]
        for pid in pids:
            lab.wait_blocked(pid)
        fd = os.open(paths[2], os.O_RDWR)
        os.pwrite(fd, b"z" * FLUSHED_BYTES, 0)
        os.close(fd)
        time.sleep(HOLD_S + 1)  # until the flusher has sent it, and then some
    for pid in pids:
        lab.expect(lab.reap(pid) == 0, "a child failed")
    os.sync()
    return pids[0], pids[1]


def total(ios: list[lab.Event]) -> int:
    return sum(io["bytes"] for io in ios)


def check(tracer: lab.Tracer, disk: lab.Disk, direct: int, syncer: int) -> None:
    who = tracer.engine
    ios = [event for event in tracer.stop() if event["ev"] == "io"]
    held_ns = HOLD_S * 1e9
    long = [io for io in ios if io["dur_ns"] >= held_ns and io["op"] == "write"]
    lab.expect(all(io["dev"] == disk.dev for io in long), f"{who}: other devices")
    for tid, size in ((direct, DIRECT_BYTES), (syncer, SYNC_BYTES)):
        own = [io for io in long if io["tid"] == tid]
        lab.expect(total(own) == size, f"{who}: {total(own)} bytes of {tid}: {own}")
        lab.expect(not any(io["kstack"] for io in own), f"{who}: a stack of no worker")
        places = {io["sector"] for io in own}
        lab.expect(len(places) == len(own), f"{who}: a bio was printed twice")
        lab.expect(not any(io["flags"] for io in own), f"{who}: flags of data: {own}")
    flusher = [io for io in long if any("wb_workfn+" in row for row in io["kstack"])]
    lab.expect(total(flusher) >= FLUSHED_BYTES, f"{who}: the flusher's: {flusher}")
    lab.expect(all(io["comm"].startswith("kworker/") for io in flusher), f"{who}: comm")
    soonest_ns = min(io["dur_ns"] for io in ios)
    lab.expect(soonest_ns >= 10e6, f"{who}: one of {soonest_ns} ns")


def changes(path: Path) -> None:
    """Change the inode alone, and sync it: what is written is the log."""
    fd = os.open(path, os.O_RDWR)
    os.fchmod(fd, 0o600)
    os.fsync(fd)


def log_is_traced(options: argparse.Namespace) -> None:
    """Each write of the log is of metadata, and empties the disk's cache
    (fs/xfs/xfs_log.c, xlog_write_iclog())."""
    with (
        lab.disk(lab.xfs()) as disk,
        lab.tracing(options.modules, lab.serving()) as tracers,
    ):
        path = lab.unread("logged")
        with disk.stalled():
            pid = lab.child(lambda: changes(path))
            lab.wait_blocked(pid)
            time.sleep(HOLD_S)
        lab.expect(lab.reap(pid) == 0, "a child failed")
        for tracer in tracers:
            ios = [event for event in tracer.stop() if event["ev"] == "io"]
            long = [io for io in ios if io["dur_ns"] >= HOLD_S * 1e9]
            logged = [io for io in long if io["flags"] == ["preflush", "fua", "meta"]]
            lab.expect(bool(logged), f"{tracer.engine}: no write of the log: {long}")


def test(options: argparse.Namespace) -> None:
    if lab.mounts("xfs"):
        log_is_traced(options)
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving()) as tracers,
    ):
        pids = held(disk)
        for tracer in tracers:
            check(tracer, disk, *pids)


if __name__ == "__main__":
    sys.exit(lab.main(test))
