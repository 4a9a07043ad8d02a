# SPDX-License-Identifier: GPL-2.0-only
"""blocks: keep the sleeps of a stream as columns of numbers.

A run has millions of sleeps of few kinds: who slept where and who woke it stands in
many lines. What differs are times, line numbers and locks: 44 bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import lt
from typing import Any

from msgspec.structs import replace

from writestall.events.contract import Block

UNKNOWN = -1
# The fields that differ between sleeps of a kind, as the Block of the kind has them.
VARYING: dict[str, Any] = {"t_ns": 0, "dur_ns": 0, "runq_ns": 0, "lock_at": None}
_COLUMNS = ("ids", "kinds", "t_ns", "dur_ns", "runq_ns", "locks")
# A sleep that was dropped: start in ns, line number, and that of the one kept.
Duplicate = tuple[int, int, int]


class Blocks:
    """Block events; a sleep is a place in the columns.

    ids      line numbers in the tracer's file
    t_ns, dur_ns, runq_ns  as in Block; an unknown runq_ns is UNKNOWN
    locks    addresses, 0 where no lock is known
    kinds    places in `shapes`, where a Block without times and address stands for all
             of its kind
    tasks    each thread's places, by time, when sort() has been called
    """

    def __init__(self, rows: Iterable[tuple[int, Block]] = ()) -> None:
        self.ids, self.kinds = array("I"), array("I")
        self.t_ns, self.dur_ns, self.runq_ns = array("q"), array("q"), array("q")
        self.locks = array("Q")
        self.shapes: list[Block] = []
        self.tasks: dict[int, range] = {}
        self._kinds: dict[Block, int] = {}
        self._by_id = array("I")
        for id, block in rows:
            kind = self.kind_of(block)
            lock_at = block.lock_at
            self.add(id, kind, block.t_ns, block.dur_ns, block.runq_ns, lock_at)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        """Line numbers and events, by time."""
        for at in sorted(range(len(self)), key=self.t_ns.__getitem__):
            yield self.ids[at], self._block(at)

    def _block(self, at: int) -> Block:
        runq_ns = self.runq_ns[at]
        return replace(
            self.shapes[self.kinds[at]],
            t_ns=self.t_ns[at],
            dur_ns=self.dur_ns[at],
            runq_ns=None if runq_ns == UNKNOWN else runq_ns,
            lock_at=hex(self.locks[at]) if self.locks[at] else None,
        )

    def add(
        self,
        id: int,
        kind: int,
        t_ns: int,
        dur_ns: int,
        runq_ns: int | None,
        lock_at: str | None,
    ) -> None:
        self.ids.append(id)
        self.kinds.append(kind)
        self.t_ns.append(t_ns)
        self.dur_ns.append(dur_ns)
        self.runq_ns.append(UNKNOWN if runq_ns is None else runq_ns)
        self.locks.append(int(lock_at, 16) if lock_at else 0)

    def kind_of(self, block: Block) -> int:
        """The number of a block's kind, a new one where it is the first of it."""
        shape = replace(block, **VARYING)
        kind = self._kinds.setdefault(shape, len(self.shapes))
        if kind == len(self.shapes):
            self.shapes.append(shape)
        return kind

    def kind_at(self, id: int) -> int | None:
        """The kind of the sleep that stands in a line, None where none does."""
        if not self._by_id and self.ids:
            self._by_id = array("I", bytes(4 * (max(self.ids) + 1)))
            for known, kind in zip(self.ids, self.kinds, strict=True):
                self._by_id[known] = kind + 1
        number = self._by_id[id] if id < len(self._by_id) else 0
        return number - 1 if number else None

    def shape(self, id: int) -> Block | None:
        """A Block of the kind that stands in a line, None where no sleep does."""
        kind = self.kind_at(id)
        return None if kind is None else self.shapes[kind]

    def sort(self) -> list[Duplicate]:
        """Orders the sleeps by task and time; drops, and returns, duplicates."""
        places: dict[int, array[int]] = {}
        of_kind = [places.setdefault(shape.tid, array("I")) for shape in self.shapes]
        adders = [own.append for own in of_kind]
        for at, kind in enumerate(self.kinds):
            adders[kind](at)
        duplicates: list[Duplicate] = []
        first = 0
        for tid, own in places.items():
            places[tid] = own = self._in_order(own, duplicates)
            self.tasks[tid] = range(first, first + len(own))
            first += len(own)
        for name in _COLUMNS:
            column = getattr(self, name)
            ordered = array(column.typecode)
            for own in places.values():
                ordered.extend(map(column.__getitem__, own))
            setattr(self, name, ordered)
        return duplicates

    def _in_order(self, own: array[int], duplicates: list[Duplicate]) -> array[int]:
        """One task's places by time; mostly they are so already."""
        t_ns, ids = self.t_ns, self.ids
        starts = array("q", map(t_ns.__getitem__, own))
        if all(map(lt, starts, islice(starts, 1, None))):
            return own
        kept = array("I")
        for at in sorted(own, key=lambda at: (t_ns[at], ids[at])):
            if kept and t_ns[kept[-1]] == t_ns[at]:
                duplicates.append((t_ns[at], ids[at], ids[kept[-1]]))
            else:
                kept.append(at)
        return kept

    def __add__(self, other: Blocks) -> Blocks:
        both = Blocks()
        both.join(self, 0)
        both.join(other, 0)
        return both

    def join(self, other: Blocks, lines: int) -> list[Duplicate]:
        """Takes in what a file holds behind its first `lines`, both being sorted.

        Returns what sort() does.
        """
        kinds = [self.kind_of(shape) for shape in other.shapes]
        behind = {name: getattr(other, name) for name in _COLUMNS}
        behind["kinds"] = array("I", map(kinds.__getitem__, other.kinds))
        behind["ids"] = array("I", map(lines.__add__, other.ids))
        nothing = range(0)
        rows = [
            (tid, self.tasks.get(tid, nothing), other.tasks.get(tid, nothing))
            for tid in self.tasks | other.tasks
        ]
        in_order = all(
            not (own and more) or self.t_ns[own[-1]] < other.t_ns[more[0]]
            for _, own, more in rows
        )
        for name in _COLUMNS:
            first, second = getattr(self, name), behind[name]
            joined = array(first.typecode)
            for _, own, more in rows:
                joined += first[own.start : own.stop]
                joined += second[more.start : more.stop]
            setattr(self, name, joined)
        at = 0
        for tid, own, more in rows:
            self.tasks[tid] = range(at, at + len(own) + len(more))
            at += len(own) + len(more)
        return [] if in_order else self.sort()
