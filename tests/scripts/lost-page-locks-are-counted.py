#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will let 613 threads wait for one page, more than SystemTap's script has
slots for, and find each of them in a `page_lock` event or counted in a `lost` one."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path

import lab

WAITERS = 613
FLOOR_US = 150_000
HOLD_S = 0.3


def wait_for_page(path: Path) -> None:
    """WAITERS threads, each reading the file's first page."""
    threading.stack_size(128 << 10)
    fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    threads = [
        threading.Thread(target=os.pread, args=(fd, 1, 0)) for _ in range(WAITERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def all_blocked(pid: int) -> bool:
    """Polled rarely, because each check reads the state of all threads."""
    time.sleep(0.3)
    tids = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(lab.state_of(tid) == "D" for tid in tids) == WAITERS


def stopped(tracer: lab.Tracer) -> list[lab.Event]:
    """All events, including losses."""
    tracer.process.send_signal(signal.SIGINT)
    lab.expect(tracer.process.wait(lab.ARMED_WITHIN_S) == 0, tracer.complaint())
    return tracer.events()


def test(options: argparse.Namespace) -> None:
    with lab.disk() as disk:
        path = lab.MOUNT / "file"
        path.write_bytes(b"x")
        os.sync()
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        limit = ("--floor-us", str(FLOOR_US))
        with lab.tracing(
            options.modules, lab.serving(), *limit, script="page_locks"
        ) as tracers:
            with disk.stalled():
                pid = lab.child(lambda: wait_for_page(path))
                lab.until(lambda: all_blocked(pid))
                time.sleep(HOLD_S)
            lab.expect(lab.reap(pid) == 0, "a reader failed")
            for tracer in tracers:
                check(tracer.engine, stopped(tracer), path.stat().st_ino)


def check(who: str, events: list[lab.Event], ino: int) -> None:
    found = [e["tid"] for e in events if e["ev"] == "page_lock" and e["ino"] == ino]
    lost = sum(e["count"] for e in events if e["ev"] == "lost")
    lab.expect(len(set(found)) == len(found), f"{who}: a wait twice")
    lab.expect(
        len(found) + lost == WAITERS, f"{who}: {len(found)} found and {lost} lost"
    )
    lab.expect(events[-1]["lost"] == lost, f"{who}: the end says {events[-1]}")
    if who == "stap":
        lab.expect(lost > 0, f"{who}: all of them had room")


if __name__ == "__main__":
    sys.exit(lab.main(test))
