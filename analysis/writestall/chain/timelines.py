# SPDX-License-Identifier: GPL-2.0-only
"""timelines: find what a task did in a window, and who held an I/O, by sleeps.

Times are CLOCK_MONOTONIC in ns; a span is half open, [start_ns, end_ns). A sleep is
its place in the columns of blocks.Blocks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from writestall.chain.cases import Case, case_of
from writestall.chain.cgroups import Cgroups
from writestall.chain.parts import Task
from writestall.chain.waits import Wait
from writestall.events.blocks import Blocks
from writestall_base import wait_classes as c

ASLEEP, RUNQUEUE, AWAKE = "asleep", "runqueue", "awake"
NO_SLEEP = -1
# What a task did, from when to when, and its sleep: NO_SLEEP while it was awake.
Span = tuple[str, int, int, int]


class Timelines:
    """The sleeps of every task, by time."""

    def __init__(self, blocks: Blocks, cgroups: Cgroups) -> None:
        self._blocks = blocks
        cgroups.note(blocks.shapes)
        self._cases = [case_of(shape, cgroups) for shape in blocks.shapes]

    def id(self, sleep: int) -> int:
        return self._blocks.ids[sleep]

    def wait(self, sleep: int, task: Task, start_ns: int, end_ns: int) -> Wait:
        """The part of a sleep that lies in a window."""
        blocks = self._blocks
        case = self._cases[blocks.kinds[sleep]]
        return Wait(sleep, blocks.ids[sleep], case, task, start_ns, end_ns)

    def case(self, sleep: int) -> Case:
        """What is the same in all sleeps of its kind."""
        return self._cases[self._blocks.kinds[sleep]]

    def lock(self, sleep: int) -> int:
        """The address of the lock that it waited for; 0: not known."""
        return self._blocks.locks[sleep]

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

    def last_wait_for(self, lock: int, tid: int, start_ns: int, end_ns: int) -> int:
        """A task's last sleep for a lock that was ended in the window, or NO_SLEEP."""
        for sleep in reversed(self.sleeps(tid, start_ns, end_ns)):
            if self.lock(sleep) == lock and self.wake_ns(sleep) < end_ns:
                return sleep
        return NO_SLEEP

    def following(self, sleep: int, limit: int) -> range:
        """The same task's next sleeps, at most `limit`, by time."""
        own = self._blocks.tasks[self.case(sleep).task.tid]
        return range(sleep + 1, min(sleep + 1 + limit, own.stop))

    def before(self, sleep: int) -> range:
        """The same task's sleep before that, if there is one."""
        own = self._blocks.tasks[self.case(sleep).task.tid]
        return range(max(sleep - 1, own.start), sleep)

    def wakes(self, cls: str) -> dict[int, list[int]]:
        """When tasks ended waits of a class, by waker, in order."""
        found: dict[int, list[int]] = {}
        for sleep, kind in enumerate(self._blocks.kinds):
            case = self._cases[kind]
            if case.cls == cls and case.waker:
                found.setdefault(case.waker.tid, []).append(self.wake_ns(sleep))
        for times in found.values():
            times.sort()
        return found

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
        self._sleeps = sleeps
        self._starts_ns = array("q", map(timelines.start_ns, sleeps))
        # Unsigned: the sum of two of the longest times is one too many for "q".
        self._wakes_ns = wakes_ns = array("Q", map(timelines.wake_ns, sleeps))
        # For each sleep the nearest one before it that lasts beyond it, -1 for none.
        self._longer = array("i")
        for at, wake_ns in enumerate(wakes_ns):
            longer = at - 1
            while longer >= 0 and wakes_ns[longer] <= wake_ns:
                longer = self._longer[longer]
            self._longer.append(longer)

    def find(self, start_ns: int, end_ns: int) -> list[tuple[int, int]]:
        """Sleeps that share time with the window, the last one first, and how much.

        One that ends before the window rules out all those up to the nearest that
        lasts longer, so that only few are looked at.
        """
        found = []
        at = bisect_left(self._starts_ns, end_ns) - 1
        while at >= 0:
            wake_ns = self._wakes_ns[at]
            if wake_ns > start_ns:
                first_ns = self._starts_ns[at]
                until_ns = wake_ns if wake_ns < end_ns else end_ns
                since_ns = first_ns if first_ns > start_ns else start_ns
                found.append((self._sleeps[at], until_ns - since_ns))
                at -= 1
            else:
                at = self._longer[at]
        return found


_JOURNAL_WAITS = (c.JOURNAL_BUFFER, c.JOURNAL_TRANSACTION, c.JOURNAL_COMMIT_WAIT)
# In these its thread keeps I/O that it has sent, or is yet to send.
_JOURNAL_HOLDS = (c.DEVICE_IO, c.TIMER)


class IoHolders:
    """Sleeps of tasks that may hold an I/O.

    For the journal's I/O that is the journal, also where it waits for what it has
    sent, or for a time; for a device's, a stacked one's worker; for any other, a task
    that sleeps before it has sent its bio; a flusher, where a writer is throttled.
    """

    def __init__(self, timelines: Timelines) -> None:
        self._timelines = timelines
        self._submitters = timelines.overlaps(lambda case: case.submitter)
        journal = timelines.overlaps(
            lambda case: case.task.role == c.JOURNAL and case.cls in _JOURNAL_HOLDS
        )
        self._by_class = dict.fromkeys(_JOURNAL_WAITS, journal)
        self._by_class[c.DIRTY_THROTTLE] = timelines.overlaps(
            lambda case: case.submitter and case.task.role == c.WRITEBACK
        )
        self._by_class[c.DEVICE_IO] = timelines.overlaps(lambda case: case.serves)

    def find(self, wait: Wait) -> Task | None:
        """The one task that held the I/O for most of a wait; or for any
        part of a pause, whose rest stays its own.
        """
        cls, timelines = wait.case.cls, self._timelines
        sleeps = self._by_class.get(cls, self._submitters)
        tasks: dict[int, Task] = {}
        covered_ns: dict[int, int] = {}
        for sleep, ns in reversed(sleeps.find(wait.start_ns, wait.end_ns)):
            task = timelines.case(sleep).task
            tasks[task.tid] = task
            covered_ns[task.tid] = covered_ns.get(task.tid, 0) + ns
        covered_ns.pop(wait.task.tid, None)
        best = max(covered_ns, key=covered_ns.__getitem__, default=None)
        least_ns = 0 if cls == c.DIRTY_THROTTLE else wait.dur_ns
        if best is None or 2 * covered_ns[best] <= least_ns:
            return None
        return tasks[best]
