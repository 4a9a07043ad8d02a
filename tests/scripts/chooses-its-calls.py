#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall calls of several tasks on several files at once and find, with
--path and --comm, and with --pid and --device, the selected calls only, and the sleeps
of all tasks."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import lab

HOLD_S = 0.3
STALL_MS = 200
NAME = "chosen one"
FOLDER = lab.MOUNT / "in"
Tracing = AbstractContextManager[list[lab.Tracer]]


def sync(path: Path, name: str = "other") -> Callable[[], None]:
    """A task of that name that syncs that file, which is dirty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 200)

    def body() -> None:
        Path("/proc/self/comm").write_text(name)
        os.fsync(os.open(path, os.O_RDWR))

    return body


def stall(disk: lab.Disk, bodies: list[Callable[[], None]]) -> list[int]:
    """Run all bodies at once, a task each, held for HOLD_S; return their pids."""
    with disk.stalled():
        pids = [lab.child(body) for body in bodies]
        for pid in pids:
            lab.wait_blocked(pid)
        time.sleep(HOLD_S)
    for pid in pids:
        lab.expect(lab.reap(pid) == 0, "a child failed")
    return pids


def check(tracer: lab.Tracer, disk: lab.Disk, found: set[int], slept: set[int]) -> None:
    """Calls of exactly those tasks, sleeps of all of these."""
    events = tracer.stop()
    who = tracer.engine
    calls = {event["tid"] for event in lab.writes_to(disk, events)}
    lab.expect(calls == found, f"{who} shows calls of {calls}, not of {found}")
    sleeps = {event["tid"] for event in events if event["ev"] == "block"}
    lab.expect(slept <= sleeps, f"{who} shows sleeps of {sleeps}, not of all {slept}")


def tracing(options: argparse.Namespace, *choice: str) -> Tracing:
    limit = ("--stall-us", str(STALL_MS * 1000))
    return lab.tracing(options.modules, lab.serving(), *limit, *choice)


def by_name_and_folder(options: argparse.Namespace, disk: lab.Disk) -> None:
    bodies = [
        sync(FOLDER / "1.log", NAME),
        sync(FOLDER / "deep/er/2.log", NAME),
        sync(FOLDER / "3.log"),
        sync(lab.MOUNT / "inside.log", NAME),
    ]
    with tracing(options, "--comm", NAME, "--path", str(FOLDER)) as tracers:
        pids = stall(disk, bodies)
        for tracer in tracers:
            check(tracer, disk, set(pids[:2]), set(pids))


def by_name_of_the_process(options: argparse.Namespace, disk: lab.Disk) -> None:
    """A thread of another name, as a JVM's, in a process of the name chosen."""
    sync(FOLDER / "thread.log")
    unchosen = sync(FOLDER / "unchosen.log")

    def work_as_another() -> None:
        Path("/proc/thread-self/comm").write_text("a worker")
        os.fsync(os.open(FOLDER / "thread.log", os.O_RDWR))

    def process() -> None:
        Path("/proc/self/comm").write_text(NAME)
        thread = threading.Thread(target=work_as_another)
        thread.start()
        thread.join()

    with tracing(options, "--comm", NAME) as tracers:
        with disk.stalled():
            pid, other = lab.child(process), lab.child(unchosen)
            lab.until(lambda: len(threads(pid)) == 1)
            (tid,) = threads(pid)
            for task in (tid, other):
                lab.wait_blocked(task)
            time.sleep(HOLD_S)
        lab.expect(lab.reap(pid) == 0 and lab.reap(other) == 0, "a child failed")
        for tracer in tracers:
            check(tracer, disk, {tid}, {tid, other})


def threads(pid: int) -> list[int]:
    """The threads of a process, without its leader."""
    found = (int(path.name) for path in Path(f"/proc/{pid}/task").iterdir())
    return [tid for tid in found if tid != pid]


def by_family_and_device(options: argparse.Namespace, disk: lab.Disk) -> None:
    """A process, one that it starts, and an unrelated one."""
    reader, writer = os.pipe()
    grandchild = sync(lab.MOUNT / "grandchild.log")
    child = sync(lab.MOUNT / "child.log")
    beside = sync(
        lab.MOUNT / "other.log"
    )  # created before the stall, which would block it
    own: list[int] = []

    def family() -> None:
        os.read(reader, 1)
        pid = lab.child(grandchild)
        child()
        lab.expect(lab.reap(pid) == 0, "the grandchild failed")

    elder = lab.child(family)
    with tracing(options, "--pid", str(elder), "--device", disk.dev) as tracers:
        with disk.stalled():
            os.write(writer, b"x")
            lab.wait_blocked(elder)
            (younger,) = lab.descendants(elder)
            own = [elder, younger]
            other = lab.child(beside)
            for pid in (younger, other):
                lab.wait_blocked(pid)
            time.sleep(HOLD_S)
        lab.expect(lab.reap(other) == 0 and lab.reap(elder) == 0, "a child failed")
        for tracer in tracers:
            check(tracer, disk, set(own), {*own, other})


def test(options: argparse.Namespace) -> None:
    with lab.disk() as disk:
        by_name_and_folder(options, disk)
        by_name_of_the_process(options, disk)
        by_family_and_device(options, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
