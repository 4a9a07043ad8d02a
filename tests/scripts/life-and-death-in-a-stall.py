#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall threads of one process together, a task that is killed
meanwhile, one that execs right after, and two that get the same pid where the kernel
lets choose it (CONFIG_CHECKPOINT_RESTORE), and find one `write` each."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path

import lab

HOLD_S = 0.2
NEXT_PID = Path("/proc/sys/kernel/ns_last_pid")


def open_log(name: str) -> int:
    return os.open(lab.MOUNT / name, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)


def write_once(name: str) -> None:
    os.write(open_log(name), b"x" * 200)


def write_then_exec(name: str) -> None:
    write_once(name)
    os.execv("/bin/true", ["true"])


def write_in_threads(names: list[str]) -> None:
    threads = [threading.Thread(target=write_once, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def threads_together(disk: lab.Disk) -> None:
    names = [f"thread{i}.log" for i in range(3)]
    with disk.stalled():
        pid = lab.child(lambda: write_in_threads(names))
        tasks = Path(f"/proc/{pid}/task")
        lab.until(lambda: len(list(tasks.iterdir())) == 4)
        for task in tasks.iterdir():
            if task.name != str(pid):
                lab.wait_blocked(int(task.name))
        time.sleep(HOLD_S)
    lab.expect(lab.reap(pid) == 0, "a thread failed")


def killed_meanwhile(disk: lab.Disk) -> None:
    with disk.stalled():
        pid = lab.child(lambda: write_once("killed.log"))
        lab.wait_blocked(pid)
        os.kill(pid, signal.SIGKILL)
        time.sleep(HOLD_S)
    lab.expect(lab.reap(pid) == -signal.SIGKILL, "the task outlived SIGKILL")


def same_pid_twice(disk: lab.Disk) -> None:
    """Two tasks, one after the other."""
    first = lab.stalled_child(disk, lambda: write_once("first.log"), HOLD_S)
    with disk.stalled():
        NEXT_PID.write_text(str(first - 1))
        pid = lab.child(lambda: write_once("second.log"))
        lab.expect(pid == first, f"pid {pid}, not {first} again")
        lab.wait_blocked(pid)
        time.sleep(HOLD_S)
    lab.expect(lab.reap(pid) == 0, "the second task failed")


def test(options: argparse.Namespace) -> None:
    names = [f"thread{i}.log" for i in range(3)]
    names += ["killed.log", "exec.log"]
    chooses_pid = NEXT_PID.exists()
    names += ["first.log", "second.log"] * chooses_pid
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving(), "--stall-us", "150000") as tracers,
    ):
        for name in names:
            (lab.MOUNT / name).write_bytes(b"y" * 200)
        os.sync()
        threads_together(disk)
        killed_meanwhile(disk)
        lab.stalled_child(disk, lambda: write_then_exec("exec.log"), HOLD_S)
        if chooses_pid:
            same_pid_twice(disk)
        for tracer in tracers:
            events = lab.writes_to(disk, tracer.stop())
            found = sorted(event["path"] for event in events)
            want = sorted(f"lab/{name}" for name in names)
            lab.expect(found == want, f"{tracer.engine} found {found}, not {want}")
            for event in events:
                alone = not event["path"].startswith("lab/thread")
                lab.expect(
                    (event["tid"] == event["pid"]) == alone,
                    f"{tracer.engine}: {event}",
                )
                lab.expect(event["slept_ns"] >= HOLD_S * 1e9, f"too short: {event}")


if __name__ == "__main__":
    sys.exit(lab.main(test))
