#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will have more tasks than CPUs call without end while bpf/core times every
call, and then write to a RAM disk while it follows every bio; a task that is preempted
while a probe runs in it must not hide the others from the probe."""

from __future__ import annotations

import argparse
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lab

LASTS_S = 5
TASKS_PER_CPU = 3
RAM_DISK = Path("/dev/ram0")


def writes_to_memory() -> None:
    fd = os.memfd_create("called")
    while True:
        os.pwrite(fd, b"x", 0)


def writes_to_disk() -> None:
    """The bios of a RAM disk end in their task: no interrupt hits a probe."""
    fd, data = os.open(RAM_DISK, os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, lab.PAGE)
    while True:
        os.pwrite(fd, data, 0)


@contextmanager
def crowd(body: Callable[[], None]) -> Iterator[None]:
    pids = [lab.child(body) for _ in range(TASKS_PER_CPU * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            lab.reap(pid)


def test(options: argparse.Namespace) -> None:
    lab.run("modprobe", "brd", "rd_nr=1", "rd_size=4096")
    never = ("--stall-us", "60000000")
    for script, body in (
        ("slow_writes", writes_to_memory),
        ("stalled_writes", writes_to_disk),
    ):
        with lab.tracing(options.modules, (lab.CORE,), *never, script=script) as found:
            with crowd(body):
                time.sleep(LASTS_S)
            found[0].stop()  # fails if anything was lost


if __name__ == "__main__":
    sys.exit(lab.main(test))
