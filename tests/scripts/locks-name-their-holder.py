#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will let tasks wait for a mutex and for an rw-semaphore, and find with each
sleep the lock and its owner, where the kernel tells; else nothing."""

from __future__ import annotations

import argparse
import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

import lab

HOLD_S = 0.4
FIELDS = ("lock", "lock_at", "holder", "holder_tid", "holder_comm")
LOCKING = ("mutex", "rwsem", "down")


def kernel_reports_locks() -> bool:
    """Whether the kernel tells what lock a task waits for: by lock:contention_begin,
    since Linux 5.19, or in task_struct.blocker."""
    return lab.release() >= (5, 19)


def extends(fd: int) -> None:
    """A direct write behind the end of the file holds the inode's lock until it is on
    the disk (fs/ext4/file.c, ext4_dio_write_checks()), and with write(2) that of the
    position of a descriptor which others have, too (fs/file.c, fdget_pos())."""
    os.write(fd, mmap.mmap(-1, lab.PAGE))


def held(disk: lab.Disk) -> tuple[int, int, int]:
    """The holder of both locks, who waits for the mutex, who for the rw-semaphore."""
    path = lab.unread("locked", 1)
    shared = os.open(path, os.O_RDWR | os.O_DIRECT)
    os.lseek(shared, lab.PAGE, os.SEEK_SET)
    with disk.stalled():
        pids = [lab.child(lambda: extends(shared))]
        lab.wait_blocked(pids[0])
        pids.append(lab.child(lambda: extends(shared)))
        lab.wait_blocked(pids[1])
        pids.append(lab.child(lambda: appends(path)))
        lab.wait_blocked(pids[2])
        time.sleep(HOLD_S)
    for pid in pids:
        lab.expect(lab.reap(pid) == 0, "a child failed")
    os.close(shared)
    return pids[0], pids[1], pids[2]


def appends(path: Path) -> None:
    fd = os.open(path, os.O_RDWR | os.O_APPEND)
    os.write(fd, b"more")


def check(tracer: lab.Tracer, holder: int, waiters: dict[int, str]) -> None:
    sleeps = [event for event in tracer.stop() if event["ev"] == "block"]
    for tid, lock in waiters.items():
        own = [row for row in sleeps if row["tid"] == tid]
        long = [row for row in own if row["dur_ns"] >= HOLD_S * 1e9]
        lab.expect(len(long) == 1, f"{tracer.engine}: sleeps of {tid}: {own}")
        found = {name: long[0][name] for name in FIELDS}
        if not kernel_reports_locks():
            lab.expect(not any(found.values()), f"{tracer.engine}: {found}")
            continue
        comm = long[0]["comm"]
        want = {"lock": lock, "holder": "owner", "holder_tid": holder}
        want |= {"lock_at": found["lock_at"], "holder_comm": comm}
        lab.expect(found == want, f"{tracer.engine}: {found}, not {want}")
        address = int(found["lock_at"], 16)
        lab.expect(address >> 47 == (1 << 17) - 1, f"{tracer.engine}: {found}")
    io = [
        row for row in sleeps if row["tid"] == holder and row["dur_ns"] >= HOLD_S * 1e9
    ]
    lab.expect(bool(io), f"{tracer.engine}: no sleep of the holder")
    named = [row for row in sleeps if row["lock"] or row["holder_tid"]]
    wrong = [row for row in named if not is_for_lock(row)]
    lab.expect(not wrong, f"{tracer.engine}: a lock of who waits for none: {wrong}")


def is_for_lock(sleep: dict[str, Any]) -> bool:
    """Whether the innermost frames are of a function that waits for a lock."""
    return any(word in frame for frame in sleep["kstack"][:8] for word in LOCKING)


def test(options: argparse.Namespace) -> None:
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving()) as tracers,
    ):
        holder, mutex, rwsem = held(disk)
        for tracer in tracers:
            check(tracer, holder, {mutex: "mutex", rwsem: "rwsem_write"})


if __name__ == "__main__":
    sys.exit(lab.main(test))
