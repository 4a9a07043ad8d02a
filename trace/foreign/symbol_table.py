# SPDX-License-Identifier: GPL-2.0-only
"""symbol_table: functions by address, in arrays: 24 bytes for each, and its name."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

MOST_FUNCTIONS, MOST_NAME_BYTES = 500_000, 512
MOST_ALIASES = 64  # of one address that are looked at
MOST_ADDRESS = (1 << 64) - 1


class Function(NamedTuple):
    """A function; `size` is 0 where the assembler gave it none."""

    start: int
    size: int
    name: str


class Table:
    """Add functions in any order, sort() once, then find() them.

    newest  of functions at one address, take the last that was added; else the name
            that a program calls: fsync, not __GI_fsync
    """

    def __init__(self, *, newest: bool = False) -> None:
        self._newest = newest
        self._starts, self._sizes = array("Q"), array("Q")
        self._ends, self._names = array("I"), bytearray()
        self._order = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Function]:
        return map(self._function, range(len(self)))

    @property
    def held_bytes(self) -> int:
        return 24 * len(self) + len(self._names)

    def add(self, start: int, size: int, name: bytes) -> None:
        """Add a function. Raises ValueError if there are too many."""
        if len(self) == MOST_FUNCTIONS:
            raise ValueError(f"it has more than {MOST_FUNCTIONS} symbols")
        if max(start, size) <= MOST_ADDRESS:
            self._starts.append(start)
            self._sizes.append(size)
            self._names += name[:MOST_NAME_BYTES]
            self._ends.append(len(self._names))

    def sort(self) -> None:
        """Make what was added ready for find()."""
        self._order = array("I", sorted(range(len(self)), key=self._starts.__getitem__))
        self._starts = array("Q", (self._starts[at] for at in self._order))

    def find(self, address: int) -> tuple[int, str] | None:
        """How far behind a function's start an address in it is, and its name."""
        found = self.function(address)
        return (address - found.start, found.name) if found else None

    def function(self, address: int) -> Function | None:
        """The function that an address is in."""
        end = bisect_right(self._starts, address)
        if not end:
            return None
        first = bisect_left(self._starts, self._starts[end - 1])
        rows = range(max(first, end - MOST_ALIASES), end)
        if self._newest:
            rows = rows[-1:]
        found = min(map(self._function, rows), key=_called)
        return found if not found.size or address < found.start + found.size else None

    def _function(self, at: int) -> Function:
        row = self._order[at]
        name = self._names[self._ends[row - 1] if row else 0 : self._ends[row]]
        return Function(
            self._starts[at], self._sizes[row], name.decode(errors="replace")
        )


def _called(function: Function) -> tuple[bool, str]:
    return function.name.startswith("_"), function.name
