# SPDX-License-Identifier: GPL-2.0-only
"""spans: turns block events into each task's line of time.

Times are CLOCK_MONOTONIC in ns; a span is half open, [start_ns, end_ns).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from msgspec import Struct

from writestall.classify import Verdict, classify, role
from writestall.events import Block

ASLEEP, RUNQUEUE, AWAKE = "asleep", "runqueue", "awake"


class Sleep(Struct, frozen=True, gc=False):
    """One block event and its id, the line number in the tracer's file."""

    id: int
    block: Block

    @property
    def start_ns(self) -> int:
        """When the task fell asleep."""
        return self.block.t_ns

    @property
    def wake_ns(self) -> int:
        """When the wake-up came that ended it."""
        return self.block.t_ns + self.block.dur_ns

    @property
    def run_ns(self) -> int:
        """When the task ran again."""
        return self.wake_ns + (self.block.runq_ns or 0)

    @property
    def verdict(self) -> Verdict:
        """What the task waited for."""
        return classify(self.block.kstack)

    @property
    def role(self) -> str:
        """Who the task is."""
        return role(self.block.kstack, self.block.comm)


class Span(Struct, frozen=True, gc=False):
    """A stretch of one task's time; `sleep` is None while it was awake."""

    kind: str
    start_ns: int
    end_ns: int
    sleep: Sleep | None

    @property
    def dur_ns(self) -> int:
        """Its length in ns."""
        return self.end_ns - self.start_ns


class Timelines:
    """The sleeps of every task, in order of time."""

    def __init__(self, blocks: Iterable[tuple[int, Block]]) -> None:
        self._sleeps: dict[int, list[Sleep]] = {}
        for number, block in sorted(blocks, key=lambda row: row[1].t_ns):
            self._sleeps.setdefault(block.tid, []).append(Sleep(number, block))
        self._starts = {
            tid: [sleep.start_ns for sleep in sleeps]
            for tid, sleeps in self._sleeps.items()
        }

    def sleeps(self, tid: int, start_ns: int, end_ns: int) -> list[Sleep]:
        """Sleeps of a task that reach into the window, begun before it or not."""
        starts = self._starts.get(tid)
        if not starts:
            return []
        first = max(bisect_right(starts, start_ns) - 1, 0)
        found = self._sleeps[tid][first : bisect_left(starts, end_ns)]
        return [sleep for sleep in found if sleep.run_ns > start_ns]

    def following(self, sleep: Sleep, limit: int) -> list[Sleep]:
        """The same task's next sleeps, at most `limit`, in order of time."""
        tid = sleep.block.tid
        after = bisect_right(self._starts[tid], sleep.start_ns)
        return self._sleeps[tid][after : after + limit]

    def spans(self, tid: int, start_ns: int, end_ns: int) -> Iterator[Span]:
        """Tiles the window with what the task did: no gap, no overlap.

        Sleeps of one task that overlap (a tracer's mistake) are cut where the one
        before them ends.
        """
        at_ns = start_ns
        for sleep in self.sleeps(tid, start_ns, end_ns):
            for kind, edge_ns in (
                (AWAKE, sleep.start_ns),
                (ASLEEP, sleep.wake_ns),
                (RUNQUEUE, sleep.run_ns),
            ):
                until_ns = min(edge_ns, end_ns)
                if until_ns > at_ns:
                    yield Span(kind, at_ns, until_ns, None if kind == AWAKE else sleep)
                    at_ns = until_ns
        if end_ns > at_ns:
            yield Span(AWAKE, at_ns, end_ns, None)

    def all_sleeps(self) -> Iterator[Sleep]:
        """Every sleep of every task."""
        for sleeps in self._sleeps.values():
            yield from sleeps


class Overlaps:
    """Sleeps of many tasks, searchable by window, however long some of them are."""

    def __init__(self, sleeps: Iterable[Sleep]) -> None:
        self._sleeps = sorted(sleeps, key=lambda sleep: sleep.start_ns)
        self._starts = [sleep.start_ns for sleep in self._sleeps]
        self._wakes = [sleep.wake_ns for sleep in self._sleeps]
        # For each sleep the nearest one before it that lasts beyond it, -1 for none.
        self._longer: list[int] = []
        for at, wake_ns in enumerate(self._wakes):
            longer = at - 1
            while longer >= 0 and self._wakes[longer] <= wake_ns:
                longer = self._longer[longer]
            self._longer.append(longer)

    def find(self, start_ns: int, end_ns: int) -> list[Sleep]:
        """Sleeps that share time with the window, in order of time.

        One that ends before the window rules out all those up to the nearest that
        lasts longer, so that only few are looked at.
        """
        found = []
        at = bisect_left(self._starts, end_ns) - 1
        while at >= 0:
            if self._wakes[at] > start_ns:
                found.append(self._sleeps[at])
                at -= 1
            else:
                at = self._longer[at]
        found.reverse()
        return found
