# SPDX-License-Identifier: GPL-2.0-only
"""io_holders: find the task that held the I/O that a wait was for."""

from __future__ import annotations

from writestall.chain.parts import Task
from writestall.chain.timelines import Timelines
from writestall.chain.waits import Wait
from writestall.classify import classes as c

_JOURNAL_WAITS = (c.JOURNAL_BUFFER, c.JOURNAL_TRANSACTION, c.JOURNAL_COMMIT_WAIT)


class IoHolders:
    """Sleeps of those who may have an I/O in their hands.

    For the journal's I/O that is the journal, also where it waits for what it has
    sent; for a device's, a stacked one's worker; for any other, a task asleep with a
    bio that it has not sent; a flusher, where a writer is throttled.
    """

    def __init__(self, timelines: Timelines) -> None:
        self._timelines = timelines
        self._submitters = timelines.overlaps(lambda case: case.submitter)
        journal = timelines.overlaps(
            lambda case: case.task.role == c.JOURNAL and case.cls == c.DEVICE_IO
        )
        self._by_class = dict.fromkeys(_JOURNAL_WAITS, journal)
        self._by_class[c.DIRTY_THROTTLE] = timelines.overlaps(
            lambda case: case.submitter and case.task.role == c.WRITEBACK
        )
        self._by_class[c.DEVICE_IO] = timelines.overlaps(lambda case: case.serves)

    def find(self, wait: Wait) -> Task | None:
        """The one task that had the I/O in its hands for most of a wait; or for any
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
