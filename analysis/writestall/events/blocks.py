# SPDX-License-Identifier: GPL-2.0-only
"""blocks: keeps the sleeps of a stream as columns of numbers.

A run has millions of sleeps of few kinds: who slept where and who woke it stands in
many lines. What differs are times and line numbers, and these take 36 bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import lt

from msgspec.structs import replace

from writestall.common import machine_code
from writestall.events.contract import Block

UNKNOWN = -1
_COLUMNS = ("ids", "kinds", "t_ns", "dur_ns", "runq_ns")


class Blocks:
    """Block events; a sleep is a place in the columns.

    ids      line numbers in the tracer's file
    t_ns, dur_ns, runq_ns  as in Block; an unknown runq_ns is UNKNOWN
    kinds    places in `likes`, where a Block without times stands for all of its kind
    tasks    each thread's places, by time, when sort() has been called
    """

    def __init__(self, rows: Iterable[tuple[int, Block]] = ()) -> None:
        self.ids, self.kinds = array("I"), array("I")
        self.t_ns, self.dur_ns, self.runq_ns = array("q"), array("q"), array("q")
        self.likes: list[Block] = []
        self.tasks: dict[int, range] = {}
        self._kinds: dict[Block, int] = {}
        self._by_id = array("I")
        for id, block in rows:
            self.add(id, block)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        """Line numbers and events, by time."""
        for at in sorted(range(len(self)), key=self.t_ns.__getitem__):
            yield self.ids[at], self._block(at)

    def _block(self, at: int) -> Block:
        runq_ns = self.runq_ns[at]
        return replace(
            self.likes[self.kinds[at]],
            t_ns=self.t_ns[at],
            dur_ns=self.dur_ns[at],
            runq_ns=None if runq_ns == UNKNOWN else runq_ns,
        )

    def add(self, id: int, block: Block) -> int:
        """Takes an event in; returns the number of its kind."""
        kind = self._kind(replace(block, t_ns=0, dur_ns=0, runq_ns=0))
        self.ids.append(id)
        self.kinds.append(kind)
        self.t_ns.append(block.t_ns)
        self.dur_ns.append(block.dur_ns)
        self.runq_ns.append(UNKNOWN if block.runq_ns is None else block.runq_ns)
        return kind

    def _kind(self, like: Block) -> int:
        kind = self._kinds.setdefault(like, len(self.likes))
        if kind == len(self.likes):
            self.likes.append(like)
        return kind

    def like(self, id: int) -> Block | None:
        """A Block of the kind that stands in a line, None where no sleep does."""
        if not self._by_id and self.ids:
            self._by_id = array("I", bytes(4 * (max(self.ids) + 1)))
            for known, kind in zip(self.ids, self.kinds, strict=True):
                self._by_id[known] = kind + 1
        kind_ = self._by_id[id] if id < len(self._by_id) else 0
        return self.likes[kind_ - 1] if kind_ else None

    def sort(self) -> list[tuple[int, int, int]]:
        """Orders the sleeps by task and time, and leaves out those that stand twice.

        Returns these: start in ns, line number, and that of the one that was kept.
        """
        if machine_code.worth(len(self)):
            return self._sort_fast()
        places: dict[int, array[int]] = {}
        of_kind = [places.setdefault(like.tid, array("I")) for like in self.likes]
        adders = [own.append for own in of_kind]
        for at, kind in enumerate(self.kinds):
            adders[kind](at)
        twice: list[tuple[int, int, int]] = []
        first = 0
        for tid, own in places.items():
            places[tid] = own = self._in_order(own, twice)
            self.tasks[tid] = range(first, first + len(own))
            first += len(own)
        for name in _COLUMNS:
            column = getattr(self, name)
            ordered = array(column.typecode)
            for own in places.values():
                ordered.extend(map(column.__getitem__, own))
            setattr(self, name, ordered)
        return twice

    def _sort_fast(self) -> list[tuple[int, int, int]]:
        """The same, by numpy."""
        import numpy as np

        threads: dict[int, int] = {}
        of_kind = [threads.setdefault(like.tid, len(threads)) for like in self.likes]
        thread = np.array(of_kind, _small(len(threads)))[machine_code.view(self.kinds)]
        ids, t_ns = machine_code.view(self.ids), machine_code.view(self.t_ns)
        order = np.argsort(thread, kind="stable")
        later = np.diff(t_ns[order]) > 0
        own = np.diff(thread[order].astype("int64")) == 0
        twice: list[tuple[int, int, int]] = []
        if not (later | ~own).all():
            order = np.lexsort((ids, t_ns, thread))
            own = np.diff(thread[order].astype("int64")) == 0
            again = np.append(False, own & (np.diff(t_ns[order]) == 0))
            # Of equal ones the first stays.
            first = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
            rows = zip(order[again], order[first[again]], strict=True)
            twice = [(int(t_ns[a]), int(ids[a]), int(ids[b])) for a, b in rows]
            order = order[~again]
        ends = np.cumsum(np.bincount(thread[order], minlength=len(threads))).tolist()
        self.tasks = dict(zip(threads, map(range, [0, *ends], ends), strict=False))
        for name in _COLUMNS:
            column = getattr(self, name)
            ordered = machine_code.view(column)[order].tobytes()
            setattr(self, name, array(column.typecode, ordered))
        return twice

    def _in_order(
        self, own: array[int], twice: list[tuple[int, int, int]]
    ) -> array[int]:
        """One task's places by time; mostly they are so already."""
        t_ns, ids = self.t_ns, self.ids
        starts = [t_ns[at] for at in own]
        if all(map(lt, starts, islice(starts, 1, None))):
            return own
        kept = array("I")
        for at in sorted(own, key=lambda at: (t_ns[at], ids[at])):
            if kept and t_ns[kept[-1]] == t_ns[at]:
                twice.append((t_ns[at], ids[at], ids[kept[-1]]))
            else:
                kept.append(at)
        return kept

    def _renumber(self, kinds: list[int], lines: int) -> None:
        """Its kinds, and its lines behind so many, as another one counts them."""
        import numpy as np

        view = machine_code.view
        self.kinds = array("I", np.array(kinds, "I")[view(self.kinds)].tobytes())
        self.ids = array("I", (view(self.ids) + np.uint32(lines)).tobytes())

    def join(self, other: Blocks, lines: int) -> list[tuple[int, int, int]]:
        """Takes in what a file holds behind its first `lines`, both being sorted.

        Returns what sort() does.
        """
        kinds = [self._kind(like) for like in other.likes]
        if machine_code.worth(len(other)):
            other._renumber(kinds, lines)
        else:
            other.kinds = array("I", [kinds[kind] for kind in other.kinds])
            other.ids = array("I", [id + lines for id in other.ids])
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
            first, second = getattr(self, name), getattr(other, name)
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


def _small(count: int) -> str:
    """A type of number for as many: numpy sorts the smallest in one go."""
    return "uint16" if count < 1 << 16 else "int64"
