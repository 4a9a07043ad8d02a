# SPDX-License-Identifier: GPL-2.0-only
"""dump: write held events as a run directory, as record does."""

from __future__ import annotations

import errno
import gzip
import json
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreign.unread import Unread
from recorder.files import size_of
from recorder.recording import of_this_host
from recorder.tasks import Tasks
from watcher.trap import Trap
from writestall.watch.ring import Segment
from writestall_base.progress import Progress
from writestall_base.steps import Run, describe
from writestall_base.stop import Stop

# What a run directory has beside its events and maps: 1000 tasks, and file systems.
BESIDE_EVENTS_BYTES = 256 << 10
WITHIN_S = 60.0  # a dump that takes longer is given up
OF_A_LOSS = b'"ev":"lost"'


@dataclass(frozen=True)
class Content:
    """What a dump is made of."""

    engine: str
    asked: dict[str, Any]
    tracer: dict[str, Any]
    first_lines: list[bytes]
    segments: list[Segment]
    window: tuple[int, int]


@dataclass(frozen=True)
class _Writing:
    """A dump that is being written; who takes `outcome` first reports it."""

    trigger: str
    place: Path
    until_s: float
    ended: threading.Event = field(default_factory=threading.Event)
    outcome: threading.Lock = field(default_factory=threading.Lock)


class Dumper:
    """Writes one dump at a time, by a thread, each within WITHIN_S.

    report  takes the trigger of each, its place, and why it was not written, else ""
    unread  takes lines about files that could not be read
    """

    def __init__(
        self,
        report: Callable[[str, Path, str], None],
        unread: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._report, self._unread = report, unread
        self._results: queue.SimpleQueue[tuple[str, Path, str]] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._writing: _Writing | None = None

    @property
    def idle(self) -> bool:
        """Whether none is being written."""
        return self._writing is None or self._writing.ended.is_set()

    def begin(self, trigger: str, content: Content, trap: Trap) -> None:
        """Write one; tell() says what became of it."""
        writing = _Writing(trigger, trap.place(trigger), time.monotonic() + WITHIN_S)
        self._writing = writing
        work = (writing, content, trap)
        threading.Thread(
            target=self._write, args=work, name="dump", daemon=True
        ).start()

    def _write(self, writing: _Writing, content: Content, trap: Trap) -> None:
        why = ""
        try:
            keep(writing.place, content, trap, Unread(self._lines.put).add)
        except OSError as error:
            why = describe(error)
        if writing.outcome.acquire(blocking=False):
            self._results.put((writing.trigger, writing.place, why))
            writing.ended.set()
        else:  # it was given up
            shutil.rmtree(writing.place, ignore_errors=True)

    def tell(self) -> None:
        """Tell of those that have ended, and of one whose time is over."""
        while not self._lines.empty():
            self._unread(self._lines.get())
        while not self._results.empty():
            self._report(*self._results.get())
        if self._writing and time.monotonic() > self._writing.until_s:
            self.give_up(f"it was not written within {WITHIN_S:g} s")

    def wait(self, until_s: float) -> None:
        """Wait for the one that is being written, and tell of it."""
        if self._writing:
            self._writing.ended.wait(max(0.0, until_s - time.monotonic()))
        self.tell()

    def give_up(self, why: str = "it was not whole when the watch ended") -> None:
        """Give up one that is being written still, and tell of it."""
        if self._writing and self._writing.outcome.acquire(blocking=False):
            self._report(self._writing.trigger, self._writing.place, why)
            self._writing = None


Noted = Callable[[str, str], None]  # a file that could not be read, and why


def _unnoted(what: str, why: str) -> None:
    pass


def keep(place: Path, content: Content, trap: Trap, unread: Noted = _unnoted) -> None:
    """Write the run directory within the trap's bound, for which the oldest may go."""
    held = sum(segment.size for segment in content.segments)
    size = 2 * held + BESIDE_EVENTS_BYTES
    most_bytes = trap.room(size)
    if not most_bytes:
        raise _no_room(size, f"in {place.parent}")
    write(place, content, most_bytes, unread)


def write(
    folder: Path, content: Content, most_bytes: int, unread: Noted = _unnoted
) -> int:
    """Write the run directory; return its size. What fails leaves nothing.

    It takes no more than so many bytes: the maps of JITs that do not fit are left out.
    """
    folder.mkdir(mode=0o700)
    try:
        return _fill(folder, content, most_bytes, unread)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _fill(folder: Path, content: Content, most_bytes: int, unread: Noted) -> int:
    run = Run(folder, Progress("none"), Stop(""))
    start_ns, end_ns = content.window
    run.manifest |= {"recorded": content.asked} | of_this_host()
    run.manifest |= {"writer": None, "window": {"start_ns": start_ns, "end_ns": end_ns}}
    run.create()
    run.events.mkdir()
    tasks = Tasks(folder, [], most_bytes=most_bytes, unread=unread)
    lines = _Counted(content, tasks.hear)
    with gzip.open(run.events / f"{content.engine}.jsonl.gz", "wb", 6) as file:
        file.writelines(lines)
    run.manifest["tracers"] = [
        content.tracer | {"events": lines.events, "lost": lines.lost}
    ]
    run.manifest["tasks"] = tasks.found()
    run.manifest["containers"] = tasks.containers()
    run.finish()
    tasks.start()  # the maps of JITs take what is left
    tasks.end()
    if (size := size_of(folder)) > most_bytes:
        raise _no_room(size, f"where {most_bytes >> 10} KiB are left")
    return size


def _no_room(size: int, where: str) -> OSError:
    why = f"no room for {size >> 10} KiB {where}; --dump-mib is the bound"
    return OSError(errno.ENOSPC, why)


class _Counted(Iterable[bytes]):
    """All lines with an end behind them; `heard` hears each."""

    def __init__(self, content: Content, heard: Callable[[bytes], None]) -> None:
        self._content, self._heard = content, heard
        self.events = self.lost = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._content.first_lines:
            self._heard(line)
            yield line
        for segment in self._content.segments:
            for line in segment.unpacked():
                self.events += 1
                if OF_A_LOSS in line:
                    self.lost += json.loads(line).get("count", 0)
                self._heard(line)
                yield line
        end = {"ev": "end", "t_ns": self._content.window[1]}
        end |= {"events": self.events, "lost": self.lost}
        yield json.dumps(end, separators=(",", ":")).encode() + b"\n"
