#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will make eleven tasks wait for pages of known files, held by a task, by
I/O and during a commit, and find exactly these eleven `page_lock` events, each with its
page, its duration and the task that unlocked it, with both engines at the same time."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import lab

FLOOR_US = 150_000
MARGIN_NS = 1_000_000
STARTS_WITHIN_NS = 20_000_000  # each engine reads its own clock
COMM = b'page"\\\n\xff'  # of every child, and its exit status
COMM_SHOWN = 'page"\\\n\ufffd'
TRACEFS = Path("/sys/kernel/tracing")
# Waiter and waker (mm/filemap.c), with folios, before folios, and before 4.14, where a
# waker may have no frame of its own below unlock_page() and end_page_writeback().
WAITS_IN = (
    *("folio_wait_bit_common+", "wait_on_page_bit_common+"),
    *("__lock_page+", "__lock_page_killable+"),
    *("wait_on_page_bit+", "wait_on_page_bit_killable+"),
)
WAKES_IN = ("folio_wake_bit+", "wake_up_page_bit+", "__wake_up_bit+")
# Where a holder sleeps: for a buffer, or before 5.12 for its own read, whose stack may
# end at the other engine's return probe of the wait (what looks behind it is
# unwind_recover_ret_addr() of arch/x86/include/asm/unwind.h, Linux 5.16).
SLEEPS_IN = (
    *("bit_wait_io+", "generic_file_buffered_read+", "generic_file_read_iter+"),
    "kretprobe_trampoline+",
)
# What identifies an event, and what both engines must agree on.
IDENTITY = ("tid", "pid", "what", "dev", "ino", "index", "pages")
ALIKE = ("comm", "waker_tid", "waker_comm", "waker_ctx", "waker_sleeps", "transaction")


@dataclass(frozen=True)
class Wait:
    """A wait that was caused: what its event must say."""

    tid: int
    what: str
    ino: int
    index: int
    hold_ns: int  # it waited at least so long
    limit_ns: int  # and at most so long
    unlocker: int | None = None  # None: who ends the I/O
    transaction: int | None = None  # that was being committed


def opened(path: Path, flags: int = os.O_RDWR) -> int:
    """The file, its pages not in memory, each to be read separately."""
    fd = os.open(path, flags | os.O_NOATIME)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    return fd


def read(path: Path, index: int) -> None:
    os.pread(opened(path), 1, index * lab.PAGE)


def write(path: Path, index: int) -> None:
    """Write part of a page: the rest must be read first, with the page locked."""
    os.pwrite(opened(path), b"y", index * lab.PAGE + 7)


def overwrite(path: Path, index: int) -> None:
    """Write a whole page, and wait for its writeback."""
    fd = opened(path)
    os.pwrite(fd, b"z" * lab.PAGE, index * lab.PAGE)
    os.fdatasync(fd)


def create(path: Path) -> None:
    """Cause a commit without data."""
    os.fsync(os.open(path, os.O_WRONLY | os.O_CREAT))


def named(body: Callable[[], None]) -> None:
    Path("/proc/self/comm").write_bytes(COMM)
    body()


def stalled(
    disk: lab.Disk, hold_s: float, bodies: Sequence[Callable[[], None]]
) -> tuple[list[int], int]:
    """Start children one after the other, blocked, then held; return their pids, and
    the ns."""
    pids = []
    begun_ns = time.monotonic_ns()
    with disk.stalled():
        for body in bodies:
            pids.append(lab.child(partial(named, body)))
            lab.wait_blocked(pids[-1])
        time.sleep(hold_s)
    lab.expect(not any([lab.reap(pid) for pid in pids]), "a child failed")
    return pids, time.monotonic_ns() - begun_ns


def held_by_a_task(disk: lab.Disk, index: int, hold_s: float) -> list[Wait]:
    """A writer reads the rest of its page and holds it; a reader waits."""
    path = lab.unread(f"task{index}")
    bodies = [partial(write, path, index), partial(read, path, index)]
    (writer, reader), took_ns = stalled(disk, hold_s, bodies)
    hold_ns = int(hold_s * 1e9)
    ino = path.stat().st_ino
    return [Wait(reader, "lock", ino, index, hold_ns, took_ns, unlocker=writer)]


def second(reader: int) -> int | None:
    """Who ends a wait behind a reader: the end of the read, as for the reader itself.

    Before 5.12 a reader waited to lock its page again, and unlocked it (mm/filemap.c,
    generic_file_buffered_read(); filemap_update_page() does not). Before 4.19 it did
    not, for its readahead was no REQ_RAHEAD (fs/ext4/readpage.c), which a suspended
    device fails (drivers/md/dm.c, dm_make_request()), and it waited for that alone.
    """
    return reader if (4, 19) <= lab.release() < (5, 12) else None


def held_by_a_read(disk: lab.Disk, index: int, hold_s: float) -> list[Wait]:
    """A reader waits for its page, and so does a writer."""
    path = lab.unread(f"read{index}")
    bodies = [partial(read, path, index), partial(write, path, index)]
    (reader, writer), took_ns = stalled(disk, hold_s, bodies)
    where = ("lock", path.stat().st_ino, index, int(hold_s * 1e9), took_ns)
    return [Wait(reader, *where), Wait(writer, *where, unlocker=second(reader))]


def written_back(disk: lab.Disk, index: int, hold_s: float) -> list[Wait]:
    """A writer waits for the writeback of its page."""
    path = lab.unread(f"back{index}")
    pids, took_ns = stalled(disk, hold_s, [partial(overwrite, path, index)])
    ino = path.stat().st_ino
    hold_ns = int(hold_s * 1e9)
    return [Wait(pids[0], "writeback", ino, index, hold_ns, took_ns)]


def started_commit() -> int:
    """The transaction of the last started commit, from the kernel's own trace."""
    text = (TRACEFS / "trace").read_text()
    started = [line for line in text.splitlines() if "jbd2_start_commit:" in line]
    return int(started[-1].partition("transaction ")[2].split()[0])


def held_in_a_commit(disk: lab.Disk, index: int, hold_s: float) -> list[Wait]:
    """Two readers wait for a page while a commit waits for the disk."""
    path = lab.unread(f"commit{index}")
    ask = partial(read, path, index)
    (TRACEFS / "events/jbd2/jbd2_start_commit/enable").write_text("1")
    bodies = [partial(create, lab.MOUNT / "new"), ask, ask]
    (_, *readers), took_ns = stalled(disk, hold_s, bodies)
    unlockers = (None, second(readers[0]))
    transaction = started_commit()
    (TRACEFS / "events/jbd2/jbd2_start_commit/enable").write_text("0")
    ino = path.stat().st_ino
    hold_ns = int(hold_s * 1e9)
    return [
        Wait(pid, "lock", ino, index, hold_ns, took_ns, by, transaction)
        for pid, by in zip(readers, unlockers, strict=True)
    ]


# Positions and durations; eleven waits in total.
ROUNDS: tuple[tuple[Callable[[lab.Disk, int, float], list[Wait]], int, float], ...] = (
    (held_by_a_task, 5, 0.31),
    (held_by_a_read, 7, 0.23),
    (written_back, 11, 0.29),
    (held_by_a_task, 13, 0.19),
    (held_in_a_commit, 17, 0.37),
    (held_by_a_read, 19, 0.41),
    (written_back, 23, 0.19),
    (held_by_a_task, 29, 0.43),
)
WAITS = 11


def check(wait: Wait, event: lab.Event, who: str) -> None:
    """Check that the event describes what was caused."""
    took_ns = event["dur_ns"]
    lab.expect(wait.hold_ns <= took_ns <= wait.limit_ns, f"{who}: {wait} took {event}")
    lab.expect(event["comm"] == COMM_SHOWN, f"{who}: comm of {event}")
    for name, functions in (("kstack", WAITS_IN), ("waker_kstack", WAKES_IN)):
        frames = event[name]
        found = any(frame.startswith(functions) for frame in frames)
        lab.expect(found, f"{who}: {name} {frames}")
    if wait.unlocker is None:
        interrupt = event["waker_ctx"] in ("hardirq", "softirq")
        # The worker that submits what was queued has a reference until then, and may be
        # the last (drivers/md/dm.c, dec_pending(), later dm_io_dec_pending()).
        worker = any("[dm_mod]" in frame for frame in event["waker_kstack"])
        lab.expect(interrupt or worker, f"{who}: {event}")
        lab.expect(not interrupt or event["waker_sleeps"] is None, f"{who}: {event}")
    else:
        check_unlocker(wait, event, who)
    if wait.transaction is not None:
        now = (event["transaction"], event["phase"])
        lab.expect(now == (wait.transaction, "logging"), f"{who}: journal {now}")


def check_unlocker(wait: Wait, event: lab.Event, who: str) -> None:
    """The unlocker is this task, and it slept on the disk meanwhile."""
    by = (event["waker_tid"], event["waker_ctx"])
    lab.expect(by == (wait.unlocker, "task"), f"{who}: unlocked by {by}, not {wait}")
    asleep = event["waker_longest_kstack"]
    found = any(frame.startswith(SLEEPS_IN) for frame in asleep)
    lab.expect(found, f"{who}: {by} slept in {asleep}")
    lab.expect(event["waker_sleeps"] == 1, f"{who}: {event}")
    for name in ("waker_slept_ns", "waker_longest_ns"):
        lab.expect(event[name] >= wait.hold_ns, f"{who}: {name} of {event}")
    lab.expect(event["waker_slept_ns"] <= event["dur_ns"], f"{who}: {event}")


def by_identity(
    tracer: lab.Tracer, disk: lab.Disk
) -> dict[tuple[object, ...], lab.Event]:
    """The events on the stalling disk but those of what made the files; each must be
    distinct."""
    events = [
        event
        for event in tracer.stop()
        if event["dev"] == disk.dev and event["tid"] != os.getpid()
    ]
    found = {tuple(event[name] for name in IDENTITY): event for event in events}
    lab.expect(len(found) == len(events), f"{tracer.engine}: twice among {events}")
    return found


def close(a_ns: int, b_ns: int) -> bool:
    return abs(a_ns - b_ns) <= max(MARGIN_NS, max(a_ns, b_ns) // 100)


def agree(a: lab.Event, b: lab.Event) -> None:
    """Check that both engines describe the same wait."""
    for name in ALIKE:
        lab.expect(a[name] == b[name], f"{name}: {a[name]} and {b[name]}")
    lab.expect(close(a["dur_ns"], b["dur_ns"]), f"durations of {a} and {b}")
    apart_ns = abs(a["t_ns"] - b["t_ns"])
    lab.expect(apart_ns < STARTS_WITHIN_NS, f"starts of {a} and {b}")


def test(options: argparse.Namespace) -> None:
    limit = ("--floor-us", str(FLOOR_US))
    with (
        lab.disk() as disk,
        lab.tracing(
            options.modules, lab.serving(), *limit, script="page_locks"
        ) as tracers,
    ):
        waits = [wait for make, at, hold_s in ROUNDS for wait in make(disk, at, hold_s)]
        lab.expect(len(waits) == WAITS, f"{len(waits)} waits were made, not {WAITS}")
        want = {(w.tid, w.tid, w.what, disk.dev, w.ino, w.index, 1): w for w in waits}
        founds = [by_identity(tracer, disk) for tracer in tracers]
        for tracer, found in zip(tracers, founds, strict=True):
            who = tracer.engine
            lab.expect(
                found.keys() == want.keys(), f"{who}: {list(found)}, not {list(want)}"
            )
            for key, wait in want.items():
                check(wait, found[key], who)
        one, *others = founds
        for other in others:
            for identity, event in one.items():
                agree(event, other[identity])


if __name__ == "__main__":
    sys.exit(lab.main(test))
