#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will have a process wait in each way in which user space waits: for a lock,
a pipe, a socket, the lock of a file, a child, a time. With --waits each engine must
list each of these sleeps with the task that ended it, and none of a process that was
not chosen; without, none."""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lab

Event = dict[str, Any]
TIMES = 8
HELD_S = 0.04
# A task holds what another waits for from before it waits.
LEAST_NS = 10_000_000
# The function that shows each kind of wait, and whether a task ended it.
KINDS = {
    "lock": (r"futex_wait\w*", True),
    "pipe": (r"(anon_)?pipe_\w+", True),
    "socket": (r"unix_stream_\w+", True),
    "file": (r"flock_lock_inode_wait|locks_lock_inode_wait", True),
    "child": (r"do_wait", True),
    "time": (r"(do|hrtimer)_nanosleep", False),
}


def held_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(HELD_S, lock.release).start()
    lock.acquire()


def held_up(reads: Callable[[], bytes], write: Callable[[bytes], int]) -> None:
    """Read what another process writes after a while."""

    def writes_later() -> None:
        time.sleep(HELD_S)
        write(b"x")

    pid = lab.child(writes_later)
    reads()
    lab.reap(pid)


def pipe() -> None:
    ends = os.pipe()
    held_up(lambda: os.read(ends[0], 1), lambda text: os.write(ends[1], text))
    for end in ends:
        os.close(end)


def sockets() -> None:
    one, other = socket.socketpair()
    with one, other:
        held_up(lambda: one.recv(1), other.send)


def file_lock() -> None:
    with tempfile.NamedTemporaryFile() as file:
        ready = os.pipe()

        def holds() -> None:
            with Path(file.name).open("rb") as own:
                fcntl.flock(own, fcntl.LOCK_EX)
                os.write(ready[1], b"x")
                time.sleep(HELD_S)

        pid = lab.child(holds)
        os.read(ready[0], 1)
        fcntl.flock(file, fcntl.LOCK_EX)
        lab.reap(pid)
        for end in ready:
            os.close(end)


def child() -> None:
    lab.reap(lab.child(lambda: time.sleep(HELD_S)))


WAYS: dict[str, Callable[[], None]] = {
    "lock": held_lock,
    "pipe": pipe,
    "socket": sockets,
    "file": file_lock,
    "child": child,
    "time": lambda: time.sleep(HELD_S),
}


def waits(gate: int, result: int) -> None:
    """Wait in each way; tell how long all took, in ns."""
    os.read(gate, 1)
    begun_ns = time.monotonic_ns()
    for way in WAYS.values():
        for _ in range(TIMES):
            way()
    os.write(result, str(time.monotonic_ns() - begun_ns).encode())


def sleeps_for_ever() -> None:
    while True:
        time.sleep(HELD_S)


def is_of(event: Event, kind: str) -> bool:
    symbols = (frame.partition("+")[0] for frame in event["kstack"])
    return any(re.fullmatch(KINDS[kind][0], symbol) for symbol in symbols)


def check(who: str, events: list[Event], tid: int, kind: str) -> None:
    """The sleeps of a kind of the chosen task are as many, and ended so."""
    found = [e for e in events if is_of(e, kind) and e["dur_ns"] >= LEAST_NS]
    own = [e for e in found if e["tid"] == tid]
    lab.expect(len(own) >= TIMES, f"{who}: {len(own)} of {TIMES} waits: {kind}")
    for event in own:
        lab.expect(bool(event["ustack"]), f"{who}: no user stack: {event}")
        by_task = event["waker_ctx"] == "task" and event["waker_tid"] not in (0, tid)
        lab.expect(by_task or not KINDS[kind][1], f"{who}: {event}")
    if kind == "lock":
        lab.expect(all(e["lock"] == "futex" for e in own), f"{who}: {own[0]}")


def listed(options: argparse.Namespace, *words: str) -> list[tuple[str, list[Event]]]:
    """The interruptible sleeps that each engine lists, of TID of the chosen one."""
    gate, result = os.pipe(), os.pipe()
    chosen = lab.child(lambda: waits(gate[0], result[1]))
    other = lab.child(sleeps_for_ever)
    given = [word.format(chosen) for word in words]
    with lab.tracing(options.modules, lab.serving(), *given) as tracers:
        os.write(gate[1], b"x")
        lab.expect(lab.reap(chosen) == 0, "the child failed")
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
        found = [(tracer.engine, tracer.stop()) for tracer in tracers]
    took_ns = int(os.read(result[0], 32))
    for end in (*gate, *result):
        os.close(end)
    rows = []
    for engine, events in found:
        blocks = [e for e in events if e["ev"] == "block" and e["state"] == "S"]
        lab.expect(other not in {e["pid"] for e in blocks}, f"{engine}: not chosen")
        slept_ns = sum(e["dur_ns"] for e in blocks if e["tid"] == chosen)
        lab.expect(slept_ns <= took_ns, f"{engine}: {slept_ns} of {took_ns}")
        rows.append((engine, [e | {"chosen": chosen} for e in blocks]))
    return rows


def test(options: argparse.Namespace) -> None:
    for who, events in listed(options, "--waits", "{}"):
        for kind in KINDS:
            check(who, events, events[0]["chosen"], kind)
        print(f"{who}: {len(events)} waits listed")
    for who, events in listed(options):
        lab.expect(not events, f"{who}: {len(events)} waits that nobody asked for")


if __name__ == "__main__":
    sys.exit(lab.main(test))
