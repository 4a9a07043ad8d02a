# SPDX-License-Identifier: GPL-2.0-only
"""submissions: find who submitted the I/O that ended a wait."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from writestall.chain.cgroups import Cgroups
from writestall.chain.parts import Cap, Task, task_of
from writestall.classify.endings import is_server
from writestall.events.contract import Io

# From bio_endio() to the wake-up of who waits for the bio, in one interrupt: it may
# end the writeback of hundreds of folios first (mm/filemap.c, folio_end_writeback()).
SOON_NS = 1_000_000
# From the end of a stacked disk's worker's bio to that of the last of those it was
# submitted for: drivers/block/loop.c, lo_complete_rq() ends a request's bios in turn.
BELOW_NS = 10_000_000


class Submission(Struct, frozen=True, gc=False):
    """An I/O of a task, in flight from t_ns to end_ns; `id` is its event's.

    Until released_ns the limit `cap` kept it back, where there was one.
    """

    id: int
    task: Task
    t_ns: int
    end_ns: int
    released_ns: int
    cap: Cap | None


class Submissions:
    """The slow I/Os of a run, sorted by their end."""

    def __init__(self, ios: Sequence[tuple[int, Io]], cgroups: Cgroups) -> None:
        self._ios = ios
        self._cgroups = cgroups
        self._ends_ns = array("q", (io.end_ns for _, io in ios))
        self._of_task: dict[int, list[int]] = {}
        for at, (_, io) in enumerate(ios):
            self._of_task.setdefault(io.tid, []).append(at)

    def ended(self, end_ns: int, within_ns: int = SOON_NS) -> Submission | None:
        """The last I/O that was done by that time, unless it was done long before."""
        at = bisect_right(self._ends_ns, end_ns) - 1
        if at < 0 or self._ends_ns[at] < end_ns - within_ns:
            return None
        return self._submission(at)

    def own(self, tid: int, start_ns: int, end_ns: int) -> Submission | None:
        """The I/O of a task that was done last in that time."""
        own = self._of_task.get(tid, ())
        at = bisect_right(own, end_ns, key=self._ends_ns.__getitem__) - 1
        if at < 0 or self._ends_ns[own[at]] <= start_ns:
            return None
        return self._submission(own[at])

    def _below(self, upper: int) -> int | None:
        """The I/O of a stacked disk's worker that was submitted for another's."""
        begun_ns, ended_ns = self._ios[upper][1].t_ns, self._ends_ns[upper]
        at = upper
        while at >= 0 and self._ends_ns[at] >= ended_ns - BELOW_NS:
            io = self._ios[at][1]
            if io.t_ns >= begun_ns and is_server(io.kstack):
                return at
            at -= 1
        return None

    def _submission(self, at: int) -> Submission:
        """An I/O; for a stacked disk's the one that its worker submitted for it to the
        disk below, with which it is done: the last of its kind within the other's time.
        """
        below = self._below(at)
        id, io = self._ios[at if below is None else below]
        group = self._cgroups.of(io.cgroup, io.cgroup_v1)
        task = task_of(io.tid, io.comm, io.kstack, group)
        throttled_ns, cap = io.throttled_ns or 0, None
        if throttled_ns:
            cap = Cap(group or "", io.op or "")
        return Submission(id, task, io.t_ns, io.end_ns, io.t_ns + throttled_ns, cap)
