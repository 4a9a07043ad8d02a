#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will make one call of each kind that a replay makes again, on a disk, and
find each once, by its file, offset, bytes and time; of others only their number. A
thread that is woken behind another's call is known to be, once for each such call."""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import asynchronous

import lab

sys.path.append(str(lab.PROJECT / "analysis"))

from writestall.events.kept_calls import FAILED, Call, calls

APPENDS, CREATED, RING, TRUNCATED, ASYNC, STORES = 1, 16, 16, 32, 64, 1
GROWS_FROM = 3000
SLEEP_S, WAKE_S = 0.2, 0.02
WAKES, MOST_WAKES = 50, 4  # those of the interpreter's lock are among them
RINGS_SINCE = 6, 3  # its tracepoint io_uring_submit_req
SYNCS = {asynchronous.AIO_FSYNC: "fsync", asynchronous.AIO_FDSYNC: "fdatasync"}
# Size, what is written and what is allocated of files with holes and behind their end.
LAYOUTS = {"holes": (1 << 20, 8192, 8192), "ahead": (5000, 5000, 1 << 20)}
# Operation, name of the file, offset, bytes, flags; of a rename, what it replaced.
Made = tuple[str, str, int | str, int, int]


def made(folder: Path) -> Iterator[Made]:
    """Make the calls, and say what each is to be kept as."""
    create = os.O_CREAT | os.O_EXCL
    log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | create, 0o600)
    yield "open", "log", 0, 0, APPENDS | CREATED
    for turn in range(3):
        os.write(log, b"a" * 200)
        yield "write", "log", turn * 200, 200, APPENDS
    os.fdatasync(log)
    yield "fdatasync", "log", -1, 0, APPENDS
    old = os.open(folder / "old", os.O_RDWR)
    yield "open", "old", 0, 0, 0
    os.pwrite(old, b"b" * 100, 4000)
    yield "write", "old", 4000, 100, 0
    os.read(old, 5000)
    yield "read", "old", 0, 5000, 0
    os.preadv(old, [bytearray(10), bytearray(20)], 7)
    yield "read", "old", 7, 30, 0
    os.ftruncate(old, 6000)
    yield "truncate", "old", 6000, 0, 0
    os.posix_fallocate(old, 0, 16384)
    yield "allocate", "old", 0, 16384, 0
    os.fsync(old)
    yield "fsync", "old", -1, 0, 0
    with mmap.mmap(old, 16384) as page:
        page[9000] = 1
        yield "fault", "old", 8192, mmap.PAGESIZE, STORES
        page[9001] = 1  # the page is writable
        page.flush(8192, 4096)
        yield "msync", "old", 8192, 4096, 0
    yield "close", "old", -1, 0, 0  # mmap() has duplicated the descriptor
    sender, receiver = socket.socketpair()
    os.sendfile(sender.fileno(), old, 4000, 300)
    yield "read", "old", 4000, 300, 0
    sender.close()
    receiver.close()
    os.posix_fadvise(old, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(old, 8192, prot=mmap.PROT_READ) as page:
        page[5000]
        yield "fault", "old", 4096, mmap.PAGESIZE, 0
    yield "close", "old", -1, 0, 0
    ctypes.CDLL(None).syncfs(old)
    yield "syncfs", "old", -1, 0, 0
    text = ctypes.create_string_buffer(b"c" * 100, 100)
    at = asynchronous.address(text)
    requests = [asynchronous.Iocb(asynchronous.PWRITE, old, at, 100, 50)]
    requests += [asynchronous.Iocb(asynchronous.PREAD, old, at, 60, 7)]
    asynchronous.submit(requests)
    yield "write", "old", 50, 100, ASYNC
    yield "read", "old", 7, 60, ASYNC
    for number, name in SYNCS.items():
        asynchronous.submit([asynchronous.Iocb(number, old)])
        yield name, "old", -1, 0, ASYNC
    if lab.release() >= RINGS_SINCE:
        yield from made_by_ring(old, at)
    os.close(old)
    yield "close", "old", -1, 0, 0
    (folder / "log").rename(folder / "old")
    yield "rename", "log", "old", 0, 0
    other = os.open(folder / "other", os.O_WRONLY | os.O_TRUNC)
    yield "open", "other", 0, 0, TRUNCATED
    os.close(other)
    yield "close", "other", -1, 0, 0
    (folder / "other").unlink()
    yield "unlink", "other", 0, 0, 0
    place = os.open(folder, os.O_RDONLY)
    yield "open", ".", 0, 0, 0
    os.fsync(place)
    yield "fsync", ".", -1, 0, 0
    os.close(place)
    yield "close", ".", -1, 0, 0
    for name in LAYOUTS:
        found = os.open(folder / name, os.O_RDONLY)
        yield "open", name, 0, 0, 0
        os.close(found)
        yield "close", name, -1, 0, 0
    os.sync()  # counted alone
    os.close(log)
    yield "close", "log", -1, 0, APPENDS


def made_by_ring(old: int, at: int) -> Iterator[Made]:
    """The same by io_uring; -1 is the file position."""
    ring = asynchronous.Ring()
    os.lseek(old, 600, os.SEEK_SET)
    for offset in (50, -1):
        ring.do(asynchronous.WRITE, old, at, 100, offset % (1 << 64))
        yield "write", "old", 600 if offset < 0 else offset, 100, ASYNC | RING
    ring.do(asynchronous.READ, old, at, 60, 7)
    yield "read", "old", 7, 60, ASYNC | RING
    ring.do(asynchronous.FSYNC, old, 0, 0, 0)
    yield "fsync", "old", -1, 0, ASYNC | RING


def wake_behind_a_write(path: Path) -> int:
    """Write, wake a thread that then syncs, and wake it again and again without a call
    of either; the thread's number."""
    file, event, found = os.open(path, os.O_RDWR), os.eventfd(0), []

    def sync() -> None:
        found.append(threading.get_native_id())
        os.pread(file, 1, 0)
        os.eventfd_read(event)
        os.fsync(file)
        for _ in range(WAKES):
            os.eventfd_read(event)

    thread = threading.Thread(target=sync)
    thread.start()
    time.sleep(SLEEP_S)
    os.pwrite(file, b"w", 0)
    for _ in range(WAKES + 1):
        os.eventfd_write(event, 1)
        time.sleep(WAKE_S)
    thread.join()
    os.close(file)
    return found[0]


def check_wakes(rows: list[Call], woken: int) -> None:
    """Rows since the write."""
    theirs = [one for one in rows if one.tid == woken or one.operation == "wake"]
    first = next(at for at, one in enumerate(theirs) if one.operation == "wake")
    lab.expect(
        (theirs[first].tid, theirs[first].offset) == (woken, os.getpid())
        and theirs[first].file == 0
        and theirs[first + 1].operation == "fsync",
        f"the wake is not between write and fsync: {theirs}",
    )
    count = sum(one.operation == "wake" for one in theirs)
    lab.expect(count <= MOST_WAKES, f"{count} wakes, few of which bring news")


def lay_out(folder: Path) -> None:
    """Make the files of LAYOUTS."""
    for name, (size, written, allocated) in LAYOUTS.items():
        path = folder / name
        path.write_bytes(b"x" * written)
        os.truncate(path, size)
        lab.run("fallocate", "--keep-size", "--length", str(allocated), path)
    os.sync()


def kept(events: list[lab.Event]) -> list[Call]:
    """All calls by time."""
    found: list[Call] = []
    for event in events:
        if event["ev"] == "calls":
            found += calls(event["rows"], event["count"])
            lab.expect(event["lost"] == 0, f"lost {event['lost']} calls")
    return sorted(found)


def xfs_counts_elsewhere(options: argparse.Namespace) -> None:
    """Of its files it is unknown what is allocated."""
    words = ("--calls-mib", "1", "--pid", str(os.getpid()))
    with lab.disk(lab.xfs()):
        path = lab.unread("old")
        with lab.tracing(options.modules, (lab.CORE,), *words) as (tracer,):
            path.read_bytes()
            time.sleep(SLEEP_S)
            events = tracer.stop()
        ino = path.stat().st_ino
    found = [e["allocated"] for e in events if e["ev"] == "file" and e["ino"] == ino]
    lab.expect(found == [None], f"XFS: allocated {found}")


def test(options: argparse.Namespace) -> None:
    if lab.mounts("xfs"):
        xfs_counts_elsewhere(options)
    with lab.disk():
        for name in ("old", "other"):
            (lab.MOUNT / name).write_bytes(b"x" * 8192)
        lay_out(lab.MOUNT)
        known = {name: (lab.MOUNT / name).stat() for name in ("old", "other", *LAYOUTS)}
        inodes = {name: status.st_ino for name, status in known.items()}
        inodes["."] = lab.MOUNT.stat().st_ino
        grows = os.open(lab.MOUNT / "grows", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(grows, b"g" * GROWS_FROM)
        words = ("--calls-mib", "1", "--pid", str(os.getpid()))
        with lab.tracing(options.modules, (lab.CORE,), *words) as tracers:
            begun_ns = time.monotonic_ns()
            wanted = list(made(lab.MOUNT))
            ended_ns = time.monotonic_ns()
            woken = wake_behind_a_write(lab.MOUNT / "old")
            os.write(grows, b"g" * 100)
            time.sleep(SLEEP_S)
            inodes["log"] = (lab.MOUNT / "old").stat().st_ino
            events = tracers[0].stop()
        grown = os.fstat(grows).st_ino
        os.close(grows)
    files = {one["ino"]: one for one in events if one["ev"] == "file"}
    numbers = {name: files[ino]["number"] for name, ino in inodes.items()}
    # not what it read of its own program meanwhile, by faults
    ours = set(numbers.values())
    found = [
        one
        for one in kept(events)
        if begun_ns <= one.t_ns <= ended_ns and one.file in ours
    ]
    got = [(c.operation, c.file, c.offset, c.bytes, c.flags & ~FAILED) for c in found]
    want = [
        (what, numbers[name], numbers.get(str(at), at), size, flags)
        for what, name, at, size, flags in wanted
    ]
    missing = [one for one in want if one not in got]
    lab.expect(got == want, f"lacks {missing}; {got}, not {want}")
    lab.expect(all(c.tid == os.getpid() for c in found), "of another task")
    lab.expect(files[inodes["old"]]["bytes"] == 8192, f"size of {files}")
    lab.expect(files[grown]["bytes"] == GROWS_FROM, f"size after a write: {files}")
    lab.expect(files[inodes["."]]["kind"] == "folder", f"kind of {files}")
    lab.expect(all(0 < c.dur_ns < ended_ns - begun_ns for c in found), "durations")
    for name in ("old", *LAYOUTS):  # the other one is cut off as it is opened
        allocated = files[inodes[name]]["allocated"]
        blocks = known[name].st_blocks
        lab.expect(allocated == blocks * 512, f"{name}: {allocated} of {blocks} blocks")
    wakes = [one for one in kept(events) if one.t_ns > ended_ns]
    check_wakes(
        wakes[wakes.index(next(o for o in wakes if o.operation == "write")) :], woken
    )
    marked = sum(one["wakes"] for one in events if one["ev"] == "calls")
    lab.expect(marked == sum(c.operation == "wake" for c in kept(events)), "wakes")
    left = sum(one["left_out"] for one in events if one["ev"] == "calls")
    lab.expect(left >= 1, f"{left} calls of other kinds")


if __name__ == "__main__":
    sys.exit(lab.main(test))
