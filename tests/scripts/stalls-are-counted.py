#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall seven calls of seven kinds, or the six that the kernel has, each
once, with thirteen short ones between them, and find exactly these `write` events with
the right call, with stalled_writes and with slow_writes. If the host suspends the
machine during a short one, that is a stall as well, by this test's own clock."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lab

HOLD_S = 0.3
STALL_US = 200_000
BYTES = 200
# e864f39569f4, "fs: add RWF_DSYNC aand RWF_SYNC"
PWRITEV2 = (4, 7)


def pwritev(fd: int, parts: list[bytes], offset: int) -> None:
    """pwritev(2) itself: os.pwritev() calls pwritev2."""
    iov = (ctypes.c_void_p * (2 * len(parts)))()
    buffers = [ctypes.create_string_buffer(part, len(part)) for part in parts]
    for i, buffer in enumerate(buffers):
        iov[2 * i] = ctypes.addressof(buffer)
        iov[2 * i + 1] = len(buffer)
    number = ctypes.c_long(296)  # x86-64
    done = ctypes.CDLL(None).syscall(number, fd, iov, len(parts), offset, 0)
    if done != sum(len(part) for part in parts):
        raise OSError(f"pwritev returned {done}")


def calls(fd: int) -> dict[str, Callable[[], object]]:
    """Each kind of call once, writing BYTES at offset BYTES * its place."""
    data = b"x" * BYTES
    halves = [data[:50], data[50:]]
    every: dict[str, Callable[[], object]] = {
        "write": lambda: os.write(fd, data),
        "pwrite64": lambda: os.pwrite(fd, data, BYTES),
        "writev": lambda: os.lseek(fd, 2 * BYTES, 0) and os.writev(fd, halves),
        "pwritev": lambda: pwritev(fd, halves, 3 * BYTES),
        "pwritev2": lambda: os.pwritev(fd, halves, 4 * BYTES, os.RWF_DSYNC),
        "fsync": lambda: os.fsync(fd),
        "fdatasync": lambda: os.fdatasync(fd),
    }
    if lab.release() < PWRITEV2:
        del every["pwritev2"]
    return every


def is_slow(call: Callable[[], object]) -> bool:
    """Make a call; return whether it took as long as a stall."""
    begun_ns = time.monotonic_ns()
    call()
    return time.monotonic_ns() - begun_ns >= STALL_US * 1000


def stall(disk: lab.Disk, name: str) -> tuple[int, int]:
    """One call of a kind on its own file, held for HOLD_S.

    Return its task, and how many of the short calls before it were slow.
    """
    path = lab.MOUNT / f"{name}.log"
    sync = name not in ("fsync", "fdatasync")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | (os.O_DSYNC if sync else 0))
    short = partial(os.pwrite, fd, b"y" * BYTES, 0)
    slow = sum(is_slow(short) for _ in range(13))
    os.sync()
    if not sync:
        slow += is_slow(partial(os.pwrite, fd, b"z" * BYTES, 0))
    pid = lab.stalled_child(disk, lambda: void(calls(fd)[name]), HOLD_S)
    os.close(fd)
    return pid, slow


def void(call: Callable[[], object]) -> None:
    call()


def entered_by(stack: str) -> bool:
    """Whether the stack reaches the system call; in 5.10 its function jumps to the
    function that calls the tracepoint on return (arch/x86/entry/common.c,
    do_syscall_64()), and before 4.6 the way back has a label of its own
    (arch/x86/entry/entry_64.S, int_ret_from_sys_call)."""
    if lab.release() < (4, 6) and "int_ret_from_sys_call" in stack:
        return True
    frames = ["do_syscall_64"] if lab.release() >= (6, 0) else []
    return all(frame in stack for frame in [*frames, "entry_SYSCALL_64"])


def check(tracer: lab.Tracer, disk: lab.Disk, pids: dict[str, int], slow: int) -> None:
    every = lab.writes_to(disk, tracer.stop())
    who = tracer.engine
    events = [event for event in every if event["tid"] != os.getpid()]
    short = len(every) - len(events)
    lab.expect(short <= slow, f"{who} found {short} short calls, {slow} were slow")
    found = [event["call"] for event in events]
    lab.expect(found == list(pids), f"{who} found {found}, not {list(pids)}")
    for place, event in enumerate(events):
        call = event["call"]
        sync = call in ("fsync", "fdatasync")
        want = {
            "tid": pids[call],
            "pid": pids[call],
            "path": f"lab/{call}.log",
            "ino": (lab.MOUNT / f"{call}.log").stat().st_ino,
            "bytes": None if sync else BYTES,
            "offset": None if sync else BYTES * place,
        }
        got = {name: event[name] for name in want}
        lab.expect(got == want, f"{who} {call}: {got}, not {want}")
        took_s = event["dur_ns"] / 1e9
        lab.expect(took_s >= HOLD_S, f"{who} {call} took {took_s} s only")
        stack = " ".join(event["kstack"])
        lab.expect(entered_by(stack), f"{who} {call}: stack {stack}")
        lab.expect(bool(event["ustack"]), f"{who} {call}: no user stack")
        CHECKS[tracer.script](event, f"{who} {call}")


def check_sleeps(event: lab.Event, who: str) -> None:
    slept_s = event["slept_ns"] / 1e9
    lab.expect(slept_s >= HOLD_S, f"{who} slept {slept_s} s only")
    lab.expect(event["dur_ns"] >= event["slept_ns"], f"{who}: {event}")
    lab.expect(event["ret"] in (None, BYTES), f"{who}: ret {event['ret']}")


def check_exactness(event: lab.Event, who: str) -> None:
    sync = event["call"] in ("fsync", "fdatasync")
    lab.expect(event["ret"] == (0 if sync else BYTES), f"{who}: ret {event['ret']}")
    lab.expect(event["sleeps"] is None, f"{who}: nobody counted sleeps")


CHECKS = {"stalled_writes": check_sleeps, "slow_writes": check_exactness}


def test(options: argparse.Namespace) -> None:
    modules: Path = options.modules
    limit = ("--stall-us", str(STALL_US), "--call", "writes,syncs")
    for script in CHECKS:
        with (
            lab.disk() as disk,
            lab.tracing(modules, lab.serving(), *limit, script=script) as tracers,
        ):
            made = {name: stall(disk, name) for name in calls(-1)}
            pids = {name: pid for name, (pid, _) in made.items()}
            slow = sum(slow for _, slow in made.values())
            for tracer in tracers:
                check(tracer, disk, pids, slow)


if __name__ == "__main__":
    sys.exit(lab.main(test))
