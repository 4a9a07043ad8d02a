# SPDX-License-Identifier: GPL-2.0-only
"""user_symbols: name the frames of user stacks, and the variables that hold futexes,
for both engines.

Programs are looked up while they live: /proc/PID/maps says which file an address is in,
the file's symbols which function or variable. It is done in a thread of its own with a
limit: neither a process that holds its mmap_lock while it stalls (fs/proc/task_mmu.c)
nor a file on the slow disk may keep the tracer from its events. What takes longer keeps
its addresses; what is known by then names later frames. The files are any user's: a
child without rights reads them (foreign/reader.py).
"""

from __future__ import annotations

import json
import os
import queue
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from foreign import files, maps
from foreign.files import Process
from foreign.maps import Mapping
from foreign.reader import Reader, UnreadError, printable
from foreign.unread import Unread

PATIENCE_S = 1.0
# It may hold the events back for that share of the time, and for so much at once: who
# maps large files and stalls all the time must not make the tracer lose events.
WAITING_SHARE, MOST_CREDIT_S = 0.1, 10.0
# How long the maps of a process are believed, how many processes are remembered, and
# what their mappings may take: a tracer may run for weeks.
MAPS_LAST_S = 1.0
MOST_PROCESSES, MOST_MAPS_BYTES = 256, 16 << 20
# So many stacks are remembered, none longer than that: names are their programs' own.
MOST_STACKS, MOST_TEXT_BYTES = 1000, 8 << 10
# How many files that could not be read are remembered, and how long.
MOST_BAD, BAD_S = 1000, 60.0
# How many places of files are remembered with what is there.
MOST_PLACES = 10_000
DEBUG = Path("/usr/lib/debug/.build-id")
USER_STACK = re.compile(rb'"ustack":\[("0x[0-9a-f]+"(?:,"0x[0-9a-f]+")*)\]')
FUTEX = re.compile(rb'"lock":"futex","lock_at":("0x[0-9a-f]+")')
PROCESS = re.compile(rb'"pid":(\d+)')
Found = tuple[int, str | None] | None  # distance from a function's start, its name


def _print(text: str) -> None:
    print(f"trace: {text}", file=sys.stderr, flush=True)


@dataclass(slots=True)
class _Mapped:
    """What a process has mapped, and when that was read."""

    rows: list[Mapping] = field(default_factory=list)
    read_s: float = float("-inf")

    @property
    def held_bytes(self) -> int:
        """About the memory that it takes."""
        return sum(300 + len(row.path) for row in self.rows)


class _Files:
    """The functions of files of processes, as the child knows them."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._reader = Reader()
        self._unread = Unread(say)
        self._bad_s: OrderedDict[str, float] = OrderedDict()
        self._places: OrderedDict[tuple[str, int], Found] = OrderedDict()
        # Processes without a map of a JIT, and until when that is believed.
        self._mapless_s: OrderedDict[int, float] = OrderedDict()

    def mapped(self, pid: int, row: Mapping, offset: int) -> Found:
        """What is at an offset of a mapped file."""
        key = f"{row.device} {row.inode} {row.path}"
        found = self._places.get((key, offset))
        if not found:
            found = self._asked(pid, row, key, offset)
            if found:
                self._places[key, offset] = found
            if len(self._places) > MOST_PLACES:
                self._places.popitem(last=False)
        return found

    def _asked(self, pid: int, row: Mapping, key: str, offset: int) -> Found:
        try:
            return self._known("elf", key, offset)
        except KeyError:
            return self._read(pid, "elf", key, offset, lambda one: self._elf(one, row))

    def compiled(self, pid: int, address: int) -> Found:
        """What a JIT has put at an address; its map changes all the time."""
        if self._mapless_s.get(pid, 0) > time.monotonic():
            return None
        key = f"perf map of process {pid}"
        found = self._read(pid, "map", key, address, self._perf_map)
        with suppress(KeyError):  # it has ended: what is known of its map
            return found or self._known("map", key, address)
        return None

    def _perf_map(self, process: Process) -> list[int]:
        try:
            return [process.perf_map()]
        except FileNotFoundError:
            self._mapless_s.pop(process.pid, None)
            self._mapless_s[process.pid] = time.monotonic() + MAPS_LAST_S
            if len(self._mapless_s) > MOST_PROCESSES:
                self._mapless_s.popitem(last=False)
            raise

    def _known(self, kind: str, key: str, at: int) -> Found:
        if self._bad_s.get(key, 0) > time.monotonic():
            return None
        try:
            return self._reader.find(kind, key, at)
        except UnreadError as error:
            self._note(key, str(error))
            return None

    def _read(
        self,
        pid: int,
        kind: str,
        key: str,
        at: int,
        opened: Callable[[Process], list[int]],
    ) -> Found:
        if self._bad_s.get(key, 0) > time.monotonic():
            return None
        with ExitStack() as stack:
            try:
                descriptors = opened(stack.enter_context(files.process(pid)))
                for one in descriptors:
                    stack.callback(os.close, one)
                return self._reader.find(kind, key, at, descriptors)
            except files.GONE:
                return None
            except (UnreadError, OSError, KeyError) as error:
                self._note(key, getattr(error, "strerror", None) or str(error))
                return None

    def _elf(self, process: Process, row: Mapping) -> list[int]:
        """The file, and its debug file where that is installed."""
        file = process.mapped(row.start, row.end)
        try:
            id = self._reader.build_id(file)
            if len(id) > 2:
                return [file, files.of_host(DEBUG / id[:2] / f"{id[2:]}.debug")]
        except OSError:
            pass
        except UnreadError:
            os.close(file)
            raise
        return [file]

    def _note(self, key: str, why: str) -> None:
        """Leave a file alone for a minute."""
        self._bad_s[key] = time.monotonic() + BAD_S
        if len(self._bad_s) > MOST_BAD:
            self._bad_s.popitem(last=False)
        self._unread.add(key, why)


class _Table:
    """The look-up itself; it may wait for a disk or for a lock."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._processes: OrderedDict[int, _Mapped] = OrderedDict()
        self._files = _Files(say)

    def names(self, pid: int, addresses: Sequence[int]) -> list[str | None]:
        """`symbol+0xoff [file]` for each address; None where nothing is known.

        All but the innermost are return addresses, behind the call.
        """
        rows = self._mapped(pid).rows
        return [
            self._name(pid, rows, address, 1 if at else 0)
            for at, address in enumerate(addresses)
        ]

    def _mapped(self, pid: int) -> _Mapped:
        known = self._processes.pop(pid, None) or _Mapped()
        self._processes[pid] = known
        if time.monotonic() - known.read_s > MAPS_LAST_S:
            # One that has ended since keeps what it had.
            known.rows = maps.read(pid) or known.rows
            known.read_s = time.monotonic()
            self._forget()
        return known

    def _forget(self) -> None:
        """Keep the processes that were looked up last."""
        held = sum(known.held_bytes for known in self._processes.values())
        while len(self._processes) > MOST_PROCESSES or held > MOST_MAPS_BYTES:
            _, oldest = self._processes.popitem(last=False)
            held -= oldest.held_bytes

    def _name(
        self, pid: int, rows: list[Mapping], address: int, back: int
    ) -> str | None:
        at = address - back
        for row in rows:
            if row.start <= at < row.end:
                file = row.behind or row
                if not file.is_file:
                    found = self._files.compiled(pid, at)
                    return _frame(found, back, "JIT") if found else None
                offset = at - file.start + file.offset
                found = self._files.mapped(pid, file, offset) or (offset, None)
                return _frame(found, back, _file_name(file.path))
        return None


def _frame(found: tuple[int, str | None], back: int, file: str) -> str:
    distance, name = found
    return f"{name or file}+0x{distance + back:x} [{file}]"


def _file_name(path: str) -> str:
    name = path.removesuffix(" (deleted)").rpartition("/")[2]
    return printable(re.sub(r"[\]\s]", "_", name)) or "?"


class UserSymbols:
    """The look-up with a limit of time."""

    def __init__(
        self, patience_s: float = PATIENCE_S, say: Callable[[str], None] = _print
    ) -> None:
        self._patience_s = patience_s
        self._table = _Table(say)
        self._asked: queue.SimpleQueue[tuple[int, Sequence[int], _Answer]]
        self._asked = queue.SimpleQueue()
        self._last: _Answer | None = None
        self._credit = _Credit()
        # By process and addresses: when they were named, and the text.
        self._texts: OrderedDict[tuple[bytes, bytes], tuple[float, bytes]]
        self._texts = OrderedDict()
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        while True:
            pid, addresses, answer = self._asked.get()
            answer.names = [None] * len(addresses)
            # Files are any user's: what is wrong with one must not end the naming.
            with suppress(Exception):
                answer.names = self._table.names(pid, addresses)
            answer.given.set()

    def stack(self, pid: int, addresses: Sequence[int]) -> list[str | None]:
        """Names of a stack's frames, innermost first; None where nothing is known."""
        nothing: list[str | None] = [None] * len(addresses)
        if self._last and not self._last.given.is_set():
            return nothing  # an earlier one still waits
        self._last = _Answer()
        self._asked.put((pid, addresses, self._last))
        patience_s = min(self._patience_s, self._credit.left_s())
        answered = self._last.given.wait(patience_s)
        self._credit.spend()
        return self._last.names if answered else nothing

    def named(self, line: bytes) -> bytes:
        """A line of events with names for the bare addresses of its user stack, and for
        the variable that its futex is in."""
        process = PROCESS.search(line)
        if process and (found := USER_STACK.search(line)):
            text = self._known(process[1], found[1])
            line = line[: found.start(1)] + text + line[found.end(1) :]
        if process and (found := FUTEX.search(line)):
            text = self._known(process[1], found[1])
            if text != found[1]:
                line = line[: found.end()] + b',"lock_in":' + text + line[found.end() :]
        return line

    def _known(self, pid: bytes, stack: bytes) -> bytes:
        """The text of a stack; that of a program that waits comes again and again."""
        named_s, text = self._texts.get((pid, stack), (float("-inf"), b""))
        if time.monotonic() - named_s > MAPS_LAST_S:
            text = self._text(int(pid), stack)
            self._texts.pop((pid, stack), None)
            if len(stack) + len(text) <= MOST_TEXT_BYTES:
                self._texts[pid, stack] = time.monotonic(), text
            if len(self._texts) > MOST_STACKS:
                self._texts.popitem(last=False)
        return text

    def _text(self, pid: int, stack: bytes) -> bytes:
        frames = json.loads(b"[" + stack + b"]")
        names = self.stack(pid, [int(frame, 16) for frame in frames])
        shown = [name or frame for name, frame in zip(names, frames, strict=True)]
        return json.dumps(shown, separators=(",", ":"))[1:-1].encode()


@dataclass(slots=True)
class _Credit:
    """The time that the look-up may hold events back for."""

    _left_s: float = MOST_CREDIT_S
    _noted_s: float = field(default_factory=time.monotonic)

    def left_s(self) -> float:
        """How long it may wait from now on."""
        passed_s = self._passed_s()
        self._left_s = min(self._left_s + WAITING_SHARE * passed_s, MOST_CREDIT_S)
        return self._left_s

    def spend(self) -> None:
        """It has waited since left_s()."""
        self._left_s = max(self._left_s - self._passed_s(), 0.0)

    def _passed_s(self) -> float:
        then_s, self._noted_s = self._noted_s, time.monotonic()
        return self._noted_s - then_s


@dataclass(slots=True)
class _Answer:
    names: list[str | None] = field(default_factory=list)
    given: threading.Event = field(default_factory=threading.Event)
