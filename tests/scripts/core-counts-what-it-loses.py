#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will have the flusher submit more bios at a time than bpf/core has entries
for, and find each without its stack counted; and let interrupts hit its probes while
they run, and find the probes that did not run counted."""

from __future__ import annotations

import argparse
import mmap
import os
import signal
import sys
import time
from pathlib import Path

import lab

ENTRIES = 1024  # WORKERS_BIOS of bpf/core/probes/state.h
BIOS = ENTRIES + 300
WRITEBACK = Path("/proc/sys/vm")
INTERRUPTS_WITHIN_S = 60.0
RAM_DISK = Path("/dev/ram0")
# The programs of bios: BPF_PROG_TYPE_TRACING and BPF_PROG_TYPE_KPROBE of linux/bpf.h.
TRAMPOLINE, KPROBE, LINK = "26", "2", "link"


def writeback_kib() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("Writeback:")]
    return int(line.split()[1])


def flusher_submits(disk: lab.Disk) -> None:
    """Every second page of a file is dirty: no two of them fit in one bio."""
    fd = os.open(lab.unread("flushed", 2 * BIOS), os.O_RDWR)
    with disk.stalled():
        for page in range(0, 2 * BIOS, 2):
            os.pwrite(fd, b"z" * lab.PAGE, page * lab.PAGE)
        (WRITEBACK / "dirty_expire_centisecs").write_text("1")
        (WRITEBACK / "dirty_writeback_centisecs").write_text("10")
        lab.until(lambda: writeback_kib() >= BIOS * lab.PAGE // 1024)
    os.fsync(fd)
    os.close(fd)


def stopped(tracer: lab.Tracer) -> list[lab.Event]:
    """All events, including losses."""
    tracer.process.send_signal(signal.SIGINT)
    lab.expect(tracer.process.wait(lab.ARMED_WITHIN_S) == 0, tracer.complaint())
    return tracer.events()


def losses(events: list[lab.Event], what: str) -> int:
    return sum(e["count"] for e in events if e["ev"] == "lost" and e["what"] == what)


def stacks_are_counted(options: argparse.Namespace) -> None:
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, (lab.CORE,)) as (tracer,),
    ):
        flusher_submits(disk)
        events = stopped(tracer)
    ios = [e for e in events if e["ev"] == "io" and e["comm"].startswith("kworker/")]
    bare = sum(not io["kstack"] for io in ios)
    lost = losses(events, "stacks")
    lab.expect(len(ios) >= BIOS, f"{len(ios)} bios of the flusher, not {BIOS}")
    lab.expect(bare >= BIOS - ENTRIES, f"{bare} of {len(ios)} bios have no stack")
    lab.expect(lost == bare, f"{bare} bios have no stack, and {lost} are counted")
    lab.expect(events[-1]["lost"] == lost, f"the end says {events[-1]}")


def writes_directly(path: Path, cpu: int) -> int:
    """A task of one CPU that writes past the page cache, until it is killed."""

    def body() -> None:
        os.sched_setaffinity(0, {cpu})
        fd, data = os.open(path, os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, lab.PAGE)
        while True:
            os.pwrite(fd, data, 0)

    return lab.child(body)


def missed(pid: int) -> dict[str, list[int]]:
    """What the kernel counts of each probe, by kind: its programs that ran already, and
    since 6.16 its kprobes (kernel/bpf/syscall.c)."""
    found: dict[str, list[int]] = {TRAMPOLINE: [], KPROBE: [], LINK: []}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(
            line.split(":\t", 1)
            for line in lab.contents(info).splitlines()
            if ":\t" in line
        )
        if (kind := fields.get("prog_type", "")) in found:
            found[kind].append(int(fields.get("recursion_misses", 0)))
        elif "missed" in fields:
            found[LINK].append(int(fields["missed"]))
    return found


def is_right(lost: int, least: dict[str, list[int]]) -> bool:
    """Where bios have two probes each, what both have missed is lost."""
    trampolines = sum(least[TRAMPOLINE])
    kprobes = sum(least[KPROBE]) + sum(least[LINK])
    if len(least[TRAMPOLINE]) > 1 and len(least[KPROBE]) > 1:
        return lost <= min(trampolines, kprobes)
    return lost >= trampolines + kprobes


def worker(tracer: lab.Tracer) -> int:
    """The process of the program itself."""
    for pid in (tracer.process.pid, *lab.descendants(tracer.process.pid)):
        if lab.contents(Path(f"/proc/{pid}/comm")).strip() == lab.WORKERS[lab.CORE]:
            return pid
    raise lab.FoundError("the program does not run")


def hit(tracer: lab.Tracer) -> bool:
    return any(map(any, missed(worker(tracer)).values()))


def misses_are_counted(options: argparse.Namespace) -> None:
    """The bios of a RAM disk end in their task, those of the other in interrupts."""
    lab.run("modprobe", "brd", "rd_nr=1", "rd_size=4096")
    with lab.tracing(options.modules, (lab.CORE,)) as (tracer,):
        cpus = sorted(os.sched_getaffinity(0))
        pids = [writes_directly(RAM_DISK, cpu) for cpu in cpus]
        pids += [writes_directly(lab.DISK, cpu) for cpu in cpus]
        try:
            deadline = time.monotonic() + INTERRUPTS_WITHIN_S
            while not hit(tracer) and time.monotonic() < deadline:
                time.sleep(0.1)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                lab.reap(pid)
        least = missed(worker(tracer))
        lost = losses(stopped(tracer), "probes")
    print(f"{least} missed, {lost} counted")
    lab.expect(any(map(any, least.values())), "no interrupt hit a probe while it ran")
    lab.expect(is_right(lost, least), f"{least} missed, and {lost} counted")


def test(options: argparse.Namespace) -> None:
    stacks_are_counted(options)
    misses_are_counted(options)


if __name__ == "__main__":
    sys.exit(lab.main(test))
