#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""soak-tracers: measure memory and losses of the tracers over many stalls.

Runs inside a guest. Eight tasks write on a schedule to a disk that takes 50 ms for each
write, while stalled_writes and slow_writes run with a lower threshold. Every write must
be reported or counted as lost, and the memory of a tracer must not grow. Writes JSON;
the status is the verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import lab

SCRIPTS = ("stalled_writes", "slow_writes")
TASKS = 8
# Longer than an emulated CPU keeps a task from running: a task that resumes after its
# write has completed has not slept, and stalled_writes does not see it.
DELAY_MS = 50
STALL_US = 10_000
SAMPLES = 100
# Between the second fifth of the run, when all symbols and stacks are known, and the
# last: the observed variation of an interpreter's heap.
GROWTH_KIB = 1024
NAME = "soak"
BYTES = 200
PLACES = 20  # of one block


def slow(delay_ms: int) -> None:
    """Delay each write to the disk by this much, and no read."""
    sectors = lab.run("blockdev", "--getsz", lab.DISK).strip()
    table = f"0 {sectors} delay {lab.DISK} 0 0 {lab.DISK} 0 {delay_ms}"
    lab.run("dmsetup", "suspend", "lab")
    lab.run("dmsetup", "reload", "lab", "--table", table)
    lab.run("dmsetup", "resume", "lab")


def write_in_step(name: str, writes: int, every_s: float) -> None:
    """Make this many stalls, one per interval, or without pause if they are late."""
    fd = os.open(lab.MOUNT / name, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    begun_s = time.monotonic()
    for count in range(writes):
        time.sleep(max(0, begun_s + count * every_s - time.monotonic()))
        before_s = time.monotonic()
        # A late one, without an event between, is recognised by its offset only.
        os.pwrite(fd, b"x" * BYTES, count % PLACES * BYTES)
        took_us = (time.monotonic() - before_s) * 1e6
        lab.expect(took_us >= STALL_US, f"a write took {took_us:.0f} us only")


class Watched:
    """A tracer, its events so far, and its memory."""

    def __init__(self, engine: str, script: str, modules: Path) -> None:
        self.script = script
        self.stalls = 0
        self.lost = 0
        self.last: lab.Event = {}
        self.process_kib: list[int] = []
        self.kernel_kib: list[int] = []
        command = [*lab.launcher(engine), script, "--stall-us", str(STALL_US)]
        command += lab.parts(engine, script, modules)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.last = event = json.loads(line)
            path = event.get("path") or ""
            self.stalls += event["ev"] == "write" and path.startswith(f"lab/{NAME}")
            self.lost += event.get("count", 0) if event["ev"] == "lost" else 0

    def begun_or_ended(self) -> bool:
        """Return whether its first line is there, or it is gone."""
        return bool(self.last) or self.process.poll() is not None

    def sample(self) -> None:
        """Record the memory of its processes and of its part of the kernel."""
        family = [self.process.pid, *lab.descendants(self.process.pid)]
        self.process_kib.append(sum(map(resident_kib, family)))
        self.kernel_kib.append(sum(map(maps_kib, family)) + module_kib(self.script))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=lab.ARMED_WITHIN_S)
        self._reader.join()

    def growth_kib(self) -> int:
        """Growth of its processes, from the second fifth of the run to the last."""
        fifth = len(self.process_kib) // 5
        early = statistics.median(self.process_kib[fifth : 2 * fifth])
        return round(statistics.median(self.process_kib[-fifth:]) - early)

    def check(self, stalls: int) -> None:
        """Fail the soak if a stall is missing and not counted, or if memory grew."""
        who = self.script
        lab.expect(self.last.get("ev") == "end", f"{who}: its last line is {self.last}")
        totals = f"{self.stalls} stalls reported, {self.lost} lost, of {stalls}"
        lab.expect(self.stalls <= stalls <= self.stalls + self.lost, f"{who}: {totals}")
        grown = self.growth_kib()
        lab.expect(grown <= GROWTH_KIB, f"{who} grew by {grown} KiB")
        kernel_kib = set(self.kernel_kib)
        lab.expect(len(kernel_kib) == 1, f"{who}: the kernel's part: {kernel_kib}")

    def totals(self) -> dict[str, Any]:
        names = ("stalls", "lost", "process_kib", "kernel_kib")
        return {name: getattr(self, name) for name in names} | {
            "events": self.last.get("events"),
            "growth_kib": self.growth_kib(),
        }


def resident_kib(pid: int) -> int:
    """VmRSS: proc_pid_status(5)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def maps_kib(pid: int) -> int:
    """Memory of its BPF maps, as their fdinfo says (kernel/bpf/syscall.c)."""
    maps = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        lines = (line.split(":\t") for line in lab.contents(info).splitlines())
        fields = {words[0]: words[-1] for words in lines}
        if "map_id" in fields:
            maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values()) // 1024


def module_kib(name: str) -> int:
    """Size of a loaded module, its static memory included: /proc/modules."""
    for line in Path("/proc/modules").read_text().splitlines():
        if line.split()[0] == name:
            return int(line.split()[1]) // 1024
    return 0


def soak(options: argparse.Namespace, watched: list[Watched]) -> None:
    """All stalls, and samples during them."""
    each = options.stalls // TASKS
    every_s = options.seconds / each
    writers = [
        lab.child(partial(write_in_step, f"{NAME}{i}", each, every_s))
        for i in range(TASKS)
    ]
    try:
        while any(lab.state_of(pid) != "Z" for pid in writers):
            for one in watched:
                one.sample()
            time.sleep(options.seconds / SAMPLES)
    finally:
        for pid in writers:
            os.kill(pid, signal.SIGKILL)  # irrelevant for one that has ended
        statuses = [lab.reap(pid) for pid in writers]
    lab.expect(not any(statuses), f"the writers ended with {statuses}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--engine", choices=lab.ENGINES, required=True)
    parser.add_argument("--stalls", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    with lab.disk():
        slow(DELAY_MS)
        watched = [
            Watched(options.engine, script, options.modules) for script in SCRIPTS
        ]
        try:
            for one in watched:
                lab.until(one.begun_or_ended)
            begun_s = time.monotonic()
            soak(options, watched)
            took_s = time.monotonic() - begun_s
        finally:
            for one in watched:
                one.stop()
        slow(0)
    result = {
        "kernel": os.uname().release,
        "engine": options.engine,
        "stalls": options.stalls // TASKS * TASKS,
        "seconds": round(took_s),
        "tracers": {one.script: one.totals() for one in watched},
    }
    options.output.write_text(json.dumps(result) + "\n")
    for one in watched:
        one.check(result["stalls"])
    return 0


if __name__ == "__main__":
    sys.exit(lab.status_of(main))
