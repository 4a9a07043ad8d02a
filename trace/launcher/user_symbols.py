# SPDX-License-Identifier: GPL-2.0-only
"""user_symbols: name the frames of user stacks, for both engines.

Programs are looked up while they live: /proc/PID/maps says which file an address is in,
the file's symbols which function. It is done in a thread of its own with a limit:
neither a process that holds its mmap_lock while it stalls (fs/proc/task_mmu.c) nor a
file on the slow disk may keep the tracer from its events. What takes longer keeps its
addresses; what is known by then names later frames.
"""

from __future__ import annotations

import json
import queue
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from launcher import elf, process_maps
from launcher.process_maps import Mapping, PerfMap

PATIENCE_S = 1.0
# How long the maps of a process are believed, and how many processes and files are
# remembered: a tracer may run for weeks.
MAPS_LAST_S = 1.0
MOST_PROCESSES, MOST_FILES = 256, 64
USER_STACK = re.compile(rb'"ustack":\[("0x[0-9a-f]+"(?:,"0x[0-9a-f]+")*)\]')
PROCESS = re.compile(rb'"pid":(\d+)')


@dataclass(slots=True)
class _Process:
    """What is known of one process."""

    pid: int
    maps: list[Mapping] = field(default_factory=list)
    read_s: float = float("-inf")
    compiled: PerfMap | None = None


class _Table:
    """The look-up itself; it may wait for a disk or for a lock."""

    def __init__(self) -> None:
        self._processes: OrderedDict[int, _Process] = OrderedDict()
        self._files: OrderedDict[tuple[str, int, str], elf.Elf] = OrderedDict()

    def names(self, pid: int, addresses: Sequence[int]) -> list[str | None]:
        """`symbol+0xoff [file]` for each address; None where nothing is known.

        All but the innermost are return addresses, behind the call.
        """
        process = self._process(pid)
        names = [
            self._name(process, address, 1 if at else 0)
            for at, address in enumerate(addresses)
        ]
        return [name and _printable(name) for name in names]

    def _process(self, pid: int) -> _Process:
        process = self._processes.pop(pid, None) or _Process(pid)
        self._processes[pid] = process
        if len(self._processes) > MOST_PROCESSES:
            self._processes.popitem(last=False)
        if time.monotonic() - process.read_s > MAPS_LAST_S:
            # One that has ended since keeps what it had.
            process.maps = process_maps.read(pid) or process.maps
            process.read_s = time.monotonic()
        return process

    def _name(self, process: _Process, address: int, back: int) -> str | None:
        at = address - back
        for row in process.maps:
            if row.start <= at < row.end:
                if row.is_file:
                    return self._of_file(process, row, address, back)
                return self._compiled(process, at, back)
        return None

    def _of_file(self, process: _Process, row: Mapping, address: int, back: int) -> str:
        file = self._file(process, row)
        name = row.path.removesuffix(" (deleted)").rpartition("/")[2]
        name = re.sub(r"[\]\s]", "_", name) or "?"
        inner = file.address(address - back - row.start + row.offset)
        function = file.function(inner)
        start, symbol = (function.start, function.name) if function else (0, name)
        return f"{symbol}+0x{inner + back - start:x} [{name}]"

    def _compiled(self, process: _Process, at: int, back: int) -> str | None:
        """A frame of code without a file: a JIT compiler's, if it keeps a map."""
        if process.compiled is None:
            process.compiled = PerfMap(process.pid)
        found = process.compiled.function(at)
        if found is None:
            return None
        start, name = found
        return f"{name}+0x{at + back - start:x} [JIT]"

    def _file(self, process: _Process, row: Mapping) -> elf.Elf:
        key = row.device, row.inode, row.path
        known = self._files.pop(key, None)
        if known is None:
            try:
                with row.file(process.pid).open("rb") as file:
                    known = elf.read(file)
            except OSError:
                return elf.Elf()  # it has ended; another may have the file, too
        self._files[key] = known
        if len(self._files) > MOST_FILES:
            self._files.popitem(last=False)
        return known


class UserSymbols:
    """The look-up with a limit of time."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._table = _Table()
        self._asked: queue.SimpleQueue[tuple[int, Sequence[int], _Answer]]
        self._asked = queue.SimpleQueue()
        self._last: _Answer | None = None
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
        answered = self._last.given.wait(self._patience_s)
        return self._last.names if answered else nothing

    def named(self, line: bytes) -> bytes:
        """A line of events with names for the bare addresses of its user stack."""
        found, process = USER_STACK.search(line), PROCESS.search(line)
        if not found or not process:
            return line
        frames = json.loads(b"[" + found[1] + b"]")
        names = self.stack(int(process[1]), [int(frame, 16) for frame in frames])
        shown = [name or frame for name, frame in zip(names, frames, strict=True)]
        text = json.dumps(shown, separators=(",", ":"))
        return line[: found.start(1)] + text[1:-1].encode() + line[found.end(1) :]


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name)


@dataclass(slots=True)
class _Answer:
    names: list[str | None] = field(default_factory=list)
    given: threading.Event = field(default_factory=threading.Event)
