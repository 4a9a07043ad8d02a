# SPDX-License-Identifier: GPL-2.0-only
"""timelines: what each task did when, by its sleeps.

Times are CLOCK_MONOTONIC in ns; a span is half open, [start_ns, end_ns). A sleep is
its place in the columns of blocks.Blocks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from writestall.chain.cases import Case, case_of
from writestall.events.blocks import Blocks

ASLEEP, RUNQUEUE, AWAKE = "asleep", "runqueue", "awake"
NO_SLEEP = -1
# What a task did, from when to when, and its sleep: NO_SLEEP while it was awake.
Span = tuple[str, int, int, int]


class Timelines:
    """The sleeps of every task, by time."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._cases = [case_of(like) for like in blocks.likes]

    def id(self, sleep: int) -> int:
        """The id of its event."""
        return self._blocks.ids[sleep]

    def case(self, sleep: int) -> Case:
        """What is the same in all sleeps of its kind."""
        return self._cases[self._blocks.kinds[sleep]]

    def start_ns(self, sleep: int) -> int:
        """When the task fell asleep."""
        return self._blocks.t_ns[sleep]

    def wake_ns(self, sleep: int) -> int:
        """When the wake-up came that ended it."""
        return self._blocks.t_ns[sleep] + self._blocks.dur_ns[sleep]

    def run_ns(self, sleep: int) -> int:
        """When the task ran again; an unknown runq_ns adds nothing."""
        return self.wake_ns(sleep) + max(self._blocks.runq_ns[sleep], 0)

    def sleeps(self, tid: int, start_ns: int, end_ns: int) -> range:
        """Sleeps of a task that reach into the window, begun before it or not."""
        own, starts = self._blocks.tasks.get(tid), self._blocks.t_ns
        if own is None:
            return range(0)
        first = bisect_right(starts, start_ns, own.start, own.stop)
        if first > own.start and self.run_ns(first - 1) > start_ns:
            first -= 1
        return range(first, bisect_left(starts, end_ns, first, own.stop))

    def following(self, sleep: int, limit: int) -> range:
        """The same task's next sleeps, at most `limit`, by time."""
        own = self._blocks.tasks[self.case(sleep).task.tid]
        return range(sleep + 1, min(sleep + 1 + limit, own.stop))

    def spans(self, tid: int, start_ns: int, end_ns: int) -> list[Span]:
        """Tiles the window with what the task did: no gap, no overlap.

        Sleeps of one task that overlap (a tracer's mistake) are cut where the one
        before them ends.
        """
        found: list[Span] = []
        at_ns, blocks = start_ns, self._blocks
        for sleep in self.sleeps(tid, start_ns, end_ns):
            edge_ns = blocks.t_ns[sleep]
            if edge_ns > at_ns:
                found.append((AWAKE, at_ns, edge_ns, NO_SLEEP))
                at_ns = edge_ns
            edge_ns += blocks.dur_ns[sleep]
            until_ns = edge_ns if edge_ns < end_ns else end_ns
            if until_ns > at_ns:
                found.append((ASLEEP, at_ns, until_ns, sleep))
                at_ns = until_ns
            # UNKNOWN is negative.
            edge_ns += blocks.runq_ns[sleep]
            until_ns = edge_ns if edge_ns < end_ns else end_ns
            if until_ns > at_ns:
                found.append((RUNQUEUE, at_ns, until_ns, sleep))
                at_ns = until_ns
        if end_ns > at_ns:
            found.append((AWAKE, at_ns, end_ns, NO_SLEEP))
        return found

    def overlaps(self, wanted: Callable[[Case], bool]) -> Overlaps:
        """The sleeps of the kinds that are wanted."""
        kinds = [wanted(case) for case in self._cases]
        chosen = [at for at, kind in enumerate(self._blocks.kinds) if kinds[kind]]
        chosen.sort(key=self._blocks.t_ns.__getitem__)
        return Overlaps(self, array("I", chosen))


class Overlaps:
    """Sleeps of many tasks, searched by window, however long some of them are."""

    def __init__(self, timelines: Timelines, sleeps: array[int]) -> None:
        self._start_ns, self._wake_ns = timelines.start_ns, timelines.wake_ns
        self._sleeps = sleeps
        # For each sleep the nearest one before it that lasts beyond it, -1 for none.
        self._longer = array("i")
        for at, sleep in enumerate(sleeps):
            wake_ns, longer = self._wake_ns(sleep), at - 1
            while longer >= 0 and self._wake_ns(sleeps[longer]) <= wake_ns:
                longer = self._longer[longer]
            self._longer.append(longer)

    def find(self, start_ns: int, end_ns: int) -> list[int]:
        """Sleeps that share time with the window, the last one first.

        One that ends before the window rules out all those up to the nearest that
        lasts longer, so that only few are looked at.
        """
        found = []
        at = bisect_left(self._sleeps, end_ns, key=self._start_ns) - 1
        while at >= 0:
            if self._wake_ns(self._sleeps[at]) > start_ns:
                found.append(self._sleeps[at])
                at -= 1
            else:
                at = self._longer[at]
        return found
