# SPDX-License-Identifier: GPL-2.0-only
"""scanner: turns a text of many lines into sleeps of known kinds and other lines."""

from __future__ import annotations

from itertools import accumulate

from writestall.common import machine_code
from writestall.events import scan
from writestall.events.blocks import Blocks

_FEW_RESTS, _FEW_BYTES = 1 << 8, 1 << 18
_COLUMNS = ("ids", "kinds", "t_ns", "dur_ns", "runq_ns")


# Its number and text.
Line = tuple[int, bytes]


class Scanner:
    """The kinds of one stream's lines, by what follows their times (decode.py)."""

    def __init__(self, blocks: Blocks) -> None:
        import numpy as np

        self._np, self._code, self._blocks = np, machine_code.code(scan), blocks
        edges = accumulate(map(len, scan.HEADS), initial=0)
        self._heads = np.frombuffer(b"".join(scan.HEADS), np.uint8)
        self._edges = np.array([*edges], np.int64)
        self._count = self._used = 0
        self._rests = self._made(_FEW_RESTS, _FEW_BYTES)
        # The code is made by now.
        self.known(memoryview(bytearray(b"\n")), 1)
        self._code.hash_of(self._rests.text, 0, 0)

    def _made(self, rests: int, size: int) -> scan.Rests:
        zeros = self._np.zeros
        columns = [zeros(rests, "int64") for _ in scan.Rests._fields[1:-1]]
        slots, text = zeros(2 * rests, "int64"), zeros(size, "uint8")
        return scan.Rests._make((slots, *columns, text))

    def learn(self, rest: bytes, kind: int) -> None:
        """Takes a kind in that was not known."""
        while self._used + len(rest) > len(self._rests.text):
            self._grow(len(self._rests.kinds), 2 * len(self._rests.text))
        if self._count == len(self._rests.kinds):
            self._grow(2 * self._count, len(self._rests.text))
        rests, at, start = self._rests, self._count, self._used
        self._count, self._used = at + 1, start + len(rest)
        rests.text[start : self._used] = self._np.frombuffer(rest, "uint8")
        rests.starts[at], rests.sizes[at], rests.kinds[at] = start, len(rest), kind
        rests.hashes[at] = self._code.hash_of(rests.text, start, self._used)
        self._place(at)

    def _place(self, at: int) -> None:
        slots = self._rests.slots
        slot = int(self._rests.hashes[at]) % len(slots)
        while slots[slot]:
            slot = (slot + 1) % len(slots)
        slots[slot] = at + 1

    def _grow(self, rests: int, size: int) -> None:
        """Makes room, and keeps what is there."""
        old, self._rests = self._rests, self._made(rests, size)
        for before, after in zip(old[1:], self._rests[1:], strict=True):
            after[: len(before)] = before
        for at in range(self._count):
            self._place(at)

    def known(self, text: memoryview, number: int) -> tuple[list[Line], int]:
        """Takes in the sleeps of known kinds.

        Returns the other lines, numbered, and how many there were; `number` is the
        first one's.
        """
        np, blocks = self._np, self._blocks
        view = np.frombuffer(text, "uint8")
        ends = np.flatnonzero(view == ord("\n")) + 1
        if not len(ends) or ends[-1] != len(view):
            ends = np.append(ends, len(view))
        columns = [np.empty(len(ends), "int64") for _ in scan.Taken._fields[:-1]]
        taken = scan.Taken._make((*columns, np.zeros(2, "int64")))
        self._code.scan(view, ends, self._heads, self._edges, self._rests, taken)
        sleeps, others = taken.counts
        for name in _COLUMNS:
            column = getattr(blocks, name)
            numbers = getattr(taken, name)[:sleeps]
            if name == "ids":
                numbers = numbers + number
            column.frombytes(numbers.astype(column.typecode).tobytes())
        rows = []
        for at in taken.others[:others].tolist():
            start = int(ends[at - 1]) if at else 0
            rows.append((number + at, bytes(text[start : ends[at]])))
        return rows, len(ends)
