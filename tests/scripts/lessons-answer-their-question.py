#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will run each lesson by the command in its header, as at a terminal, beside
three stalled writes, three waits for a page and a slow commit, stop it with Ctrl-C, and
find these in what it printed, by name and duration."""

from __future__ import annotations

import argparse
import mmap
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import plain
import stap_cache

import lab

STALLS = 3
HOLD_S = 0.3
HOLD_MS = 300
FOLDER = {"stap": "stap/lessons/*.stp", "bpftrace": "bpf/lessons/*.bt"}
ARMED = "stop with Ctrl-C"
# Both engines print that before they arm the last probe.
ARMS_S = 3
SYSTEM_MAP = lab.PROJECT / "trace/system-map"


@dataclass(frozen=True)
class Stall:
    """A writer that held a page while the disk stood still, and a reader behind it."""

    writer: int
    reader: int
    ino: int
    index: int


@dataclass(frozen=True)
class Caused:
    """What happened while the lesson ran."""

    stalls: tuple[Stall, ...]
    commits: int


def named(name: str, body: Callable[[], None]) -> None:
    Path("/proc/self/comm").write_text(name)
    body()


def write(path: Path, index: int) -> None:
    """Write part of a page with write(2): the rest must be read first, with the page
    locked."""
    fd = os.open(path, os.O_RDWR)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    os.lseek(fd, index * lab.PAGE + 7, os.SEEK_SET)
    os.write(fd, b"y")


def fault(path: Path, index: int) -> None:
    """Touch a page of a mapping: who finds it locked waits to lock it."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as at,
    ):
        at.madvise(mmap.MADV_RANDOM)
        at[index * lab.PAGE]


def stall(disk: lab.Disk, index: int) -> Stall:
    path = lab.unread(f"page{index}")
    pids = []
    with disk.stalled():
        for name, body in (("writer", write), ("reader", fault)):
            pids.append(lab.child(partial(named, name, partial(body, path, index))))
            lab.wait_blocked(pids[-1])
        time.sleep(HOLD_S)
    lab.expect(not any([lab.reap(pid) for pid in pids]), "a child failed")
    writer, reader = pids
    return Stall(writer, reader, path.stat().st_ino, index)


def committed() -> int:
    """Transactions since the mount (fs/jbd2/journal.c)."""
    (info,) = Path("/proc/fs/jbd2").glob("dm-*/info")
    return int(info.read_text().split()[0])


def commit() -> None:
    """A new file and its fsync: one transaction."""
    os.fsync(os.open(lab.MOUNT / "committed", os.O_WRONLY | os.O_CREAT))


def cause(disk: lab.Disk) -> Caused:
    before = committed()
    stalls = tuple(stall(disk, index) for index in range(1, STALLS + 1))
    lab.stalled_child(disk, partial(named, "syncer", commit), HOLD_S)
    (lab.MOUNT / "committed").unlink()
    os.sync()
    return Caused(stalls, committed() - before)


def found(pattern: str, text: str, who: str, times: int = 1) -> list[re.Match[str]]:
    """The matches of a pattern, so many of them."""
    matches = list(re.finditer(pattern, text, re.M))
    say = f"{who}: {len(matches)} of {pattern!r}, not {times}, in:\n{text}"
    lab.expect(len(matches) == times, say)
    return matches


def long(ms: int, who: str) -> None:
    lab.expect(ms >= HOLD_MS, f"{who}: {ms} ms, not {HOLD_MS} and more")


def histogram(text: str, caused: Caused, who: str) -> None:
    """The writers' slow calls, and that nearly all of their time was in them."""
    if who.startswith("stap"):
        (at,) = found(r"^writer, us of each write\(2\):$", text, who)
        counts = re.search(
            r"(\d+) of (\d+) calls were slow, (\d+) of (\d+) ms", text[at.end() :]
        )
        lab.expect(counts is not None, f"{who}: no count in:\n{text}")
        slow, calls, slow_ms, _ = map(int, counts.groups() if counts else ())
        lab.expect(calls == 2 * STALLS, f"{who}: {calls} calls in:\n{text}")
    else:
        slow, slow_ms = (
            int(found(rf"^@{name}\[writer\]: (\d+)$", text, who)[0][1])
            for name in ("slow_calls", "slow_ms")
        )
        found(r"^@write_us\[writer\]:", text, who)
    lab.expect(slow == STALLS, f"{who}: {slow} slow calls in:\n{text}")
    long(slow_ms // STALLS, who)


# The call below vfs_write(), and the one in which the writers slept: SystemTap's lesson
# has no functions of modules.
CALLS = {
    "stap": ("generic_perform_write", "__wait_on_buffer"),
    "bpftrace": ("ext4_buffered_write_iter", "ext4_da_write_begin"),
}


def graph(text: str, caused: Caused, who: str) -> None:
    """Where the writers slept: while the rest of the page was read."""
    below, slept = CALLS[who.split()[0]]
    for one in caused.stalls:
        head = rf"^writer/{one.writer}, us of each call:\n"
        (at,) = found(head, text, who)
        rows = text[at.end() :].partition("\n\n")[0]
        found(rf"\A *\d+ vfs_write\n *\d+   {below}$", rows, who)
        longest = found(rf"^ *(\d+)     {slept}$", rows, who)[0]
        long(int(longest[1]) // 1000, who)


def unlocker(text: str, caused: Caused, who: str) -> None:
    for one in caused.stalls:
        page = f"page {one.index}"
        if who.startswith("bpftrace"):
            page = f"the lock of {page} of inode {one.ino}"
        line = rf"^reader/{one.reader} waited (\d+) ms for {page}, ended by "
        (match,) = found(line + rf"writer/{one.writer}\b", text, who)
        long(int(match[1]), who)


def phases(text: str, caused: Caused, who: str) -> None:
    rows = found(
        r"^jbd2/dm-\S+ +\d+ +(\d+) +(\d+) +(\d+) +(\d+)\s*$", text, who, caused.commits
    )
    slow = [row for row in rows if sum(map(int, row.groups())) >= HOLD_MS]
    lab.expect(len(slow) == 1, f"{who}: {len(slow)} slow commits in:\n{text}")
    long(int(slow[0][3]), who)


def waker(text: str, caused: Caused, who: str) -> None:
    for one in caused.stalls:
        # Between the two, bpftrace prints the stack of the sleep.
        line = rf"^reader/{one.reader} slept (\d+) ms\b(?:(?! slept )[\s\S])*?"
        (match,) = found(line + rf"woken by writer/{one.writer}\b", text, who)
        long(int(match[1]), who)
        found(rf"^writer/{one.writer} slept \d+ ms", text, who)


def submitter(text: str, caused: Caused, who: str) -> None:
    for one in caused.stalls:
        rows = found(
            rf"^writer +{one.writer} +R +\d+:\d+ +\d+ +{lab.PAGE} +(\d+)\s*$", text, who
        )
        long(int(rows[0][1]) // 1000, who)


SHOWS = {
    "how-long-do-writes-take": histogram,
    "what-does-a-slow-write-call": graph,
    "what-does-jbd2-do": phases,
    "who-submits-the-io": submitter,
    "who-unlocks-the-page": unlocker,
    "who-wakes-the-sleeper": waker,
}


class Terminal:
    """A command on a terminal of its own; what it prints there."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self.text = ""
        self.process = subprocess.Popen(
            words,
            cwd=lab.PROJECT,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            process_group=0,
        )
        os.close(theirs)

    def read(self) -> str:
        """All that it has printed so far."""
        try:
            while part := os.read(self._ours, 1 << 16):
                self.text += part.decode(errors="replace").replace("\r\n", "\n")
        except OSError:
            pass  # nothing more yet, or its end
        return self.text

    def armed(self) -> bool:
        self.read()
        lab.expect(self.process.poll() is None, f"it ended: {self.text}")
        return ARMED in self.text

    def interrupt(self) -> int:
        """Ctrl-C; the status of its end."""
        os.killpg(self.process.pid, signal.SIGINT)
        lab.until(lambda: bool(self.read()) and self.process.poll() is not None)
        self.read()
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)


def check(
    engine: str, script: Path, environment: dict[str, str], disk: lab.Disk
) -> None:
    who = f"{engine} {script.stem}"
    terminal = Terminal(plain.command(script, os.uname().release), environment)
    try:
        lab.until(terminal.armed)
        time.sleep(ARMS_S)
        caused = cause(disk)
        status = terminal.interrupt()
    finally:
        terminal.close()
    lab.expect(status == 0, f"{who} ended with {status}: {terminal.text}")
    lab.expect("WARNING" not in terminal.text, f"{who} warns: {terminal.text}")
    SHOWS[script.stem](terminal.text, caused, who)
    print(f"{who}:\n{terminal.text}")


def test(options: argparse.Namespace) -> None:
    environment = stap_cache.environment(options.modules)
    lab.run(SYSTEM_MAP, "make")
    try:
        with lab.disk() as disk:
            for engine in FOLDER:
                for script in sorted(lab.PROJECT.glob(FOLDER[engine])):
                    check(engine, script, environment, disk)
    finally:
        lab.run(SYSTEM_MAP, "undo")


if __name__ == "__main__":
    sys.exit(lab.main(test))
