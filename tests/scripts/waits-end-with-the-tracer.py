#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will have a task sleep interruptibly in a page fault inside read(2), which
then makes random numbers for seconds, and end the tracers meanwhile. With --waits each
engine must list the sleep, although its call has not ended.

The fault is userfaultfd(2)'s: its reader gets a message, and ends the sleep."""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import mmap
import os
import re
import signal
import struct
import sys
import threading
import time
from pathlib import Path

import lab

HELD_S = 0.04
CALL = 323  # userfaultfd(2) (linux/arch/x86/entry/syscalls/syscall_64.tbl)
# linux/userfaultfd.h
API, REGISTER, ZEROPAGE = 0xC018AA3F, 0xC020AA00, 0xC020AA04
FEATURES = struct.Struct("QQQ")
RANGE = struct.Struct("QQQQ")
MISSING = 1
MESSAGE_BYTES = 32
FAULTS = re.compile(r"handle_userfault\+")
PARTS, PART_BYTES = 511, 400_000  # random numbers for seconds


def faulting() -> tuple[mmap.mmap, int, int]:
    """A page whose first use faults, its address, and what reports the fault."""
    page = mmap.mmap(-1, lab.PAGE)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    faults = ctypes.CDLL(None, use_errno=True).syscall(CALL, os.O_CLOEXEC)
    lab.expect(faults >= 0, f"userfaultfd: {os.strerror(ctypes.get_errno())}")
    fcntl.ioctl(faults, API, FEATURES.pack(0xAA, 0, 0))
    fcntl.ioctl(faults, REGISTER, RANGE.pack(at, lab.PAGE, MISSING, 0))
    return page, at, faults


def reads(gate: int, ended: int) -> None:
    """Sleep in read(2), and go on in it; say when the sleep has ended."""
    page, at, faults = faulting()
    part = mmap.mmap(-1, PART_BYTES)

    def end_sleep() -> None:
        os.read(faults, MESSAGE_BYTES)
        time.sleep(HELD_S)
        fcntl.ioctl(faults, ZEROPAGE, RANGE.pack(at, lab.PAGE, 0, 0))
        os.write(ended, b"x")

    os.read(gate, 1)
    threading.Thread(target=end_sleep).start()
    with Path("/dev/urandom").open("rb", buffering=0) as source:
        os.readv(source.fileno(), [page] + [part] * PARTS)


def has_faults() -> bool:
    """Whether the kernel reports faults (CONFIG_USERFAULTFD)."""
    handle = ctypes.CDLL(None).syscall(CALL, os.O_CLOEXEC)
    if handle >= 0:
        os.close(handle)
    return bool(handle >= 0)


def test(options: argparse.Namespace) -> None:
    if not has_faults():
        print("no userfaultfd in this kernel: not asked")
        return
    gate, ended = os.pipe(), os.pipe()
    pid = lab.child(lambda: reads(gate[0], ended[1]))
    engines = lab.serving()
    with lab.tracing(options.modules, engines, "--waits", str(pid)) as tracers:
        os.write(gate[1], b"x")
        os.read(ended[0], 1)
        found = [(tracer.engine, tracer.stop()) for tracer in tracers]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for who, events in found:
        own = [
            event
            for event in events
            if event["ev"] == "block"
            and event["tid"] == pid
            and any(map(FAULTS.match, event["kstack"]))
        ]
        lab.expect(len(own) == 1, f"{who}: {len(own)} of 1 sleep is listed: {events}")
        lab.expect(own[0]["dur_ns"] >= HELD_S * 1e9, f"{who}: {own[0]}")
        print(f"{who}: a sleep of {own[0]['dur_ns'] / 1e6:.0f} ms is listed")


if __name__ == "__main__":
    sys.exit(lab.main(test))
