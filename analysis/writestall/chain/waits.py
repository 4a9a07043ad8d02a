# SPDX-License-Identifier: GPL-2.0-only
"""waits: make the parts of a chain from waits and from time in no wait."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from writestall.chain.cases import Case
from writestall.chain.parts import INFERRED, SEEN, WAIT, Part, Task
from writestall.chain.submissions import Submission
from writestall.classify.owners import JBD2, WRITEBACK
from writestall_base import wait_classes as c

_JBD2 = Task(0, "", c.JOURNAL, JBD2)
_JOURNAL = Task(0, "", c.JOURNAL, "the journal")
_FLUSHER = Task(0, "", c.WRITEBACK, WRITEBACK)
# Whose I/O it is that a wait of this class ends with, where no event names it.
_OWNERS = {
    c.JOURNAL_BUFFER: _JBD2,
    c.JOURNAL_TRANSACTION: _JBD2,
    c.JOURNAL_COMMIT_WAIT: _JOURNAL,
    c.PAGE_WRITEBACK: _FLUSHER,
}
WOKEN = "woken, waiting for a CPU"
KEPT_BACK = "the limit of its cgroup kept it back from the device"


class Wait(Struct, frozen=True, gc=False):
    """The part of a sleep that lies in the window that is asked about."""

    sleep: int
    id: int
    case: Case
    task: Task
    start_ns: int
    end_ns: int

    @property
    def dur_ns(self) -> int:
        return self.end_ns - self.start_ns

    def root(self, why: str, link: str = SEEN) -> Part:
        """The wait as a root: its cause is known."""
        case, dur_ns = self.case, self.end_ns - self.start_ns
        return Part(
            WAIT, case.cls, dur_ns, self.task, self.start_ns, link, why, case.path,
            None, (self.id,), True, (), dur_ns,
        )  # fmt: skip

    def over(
        self,
        parts: Sequence[Part],
        holder: Task | None = None,
        link: str = SEEN,
        why: str = "",
        also: tuple[int, ...] = (),
        since_ns: int | None = None,
    ) -> Part:
        """The wait, with what its holder did meanwhile as its parts.

        also      the id of an event about it beside its own
        since_ns  when the holder had the lock, as events show
        """
        case, explained_ns = self.case, 0
        for part in parts:
            explained_ns += part.explained_ns
        return Part(
            WAIT, case.cls, self.end_ns - self.start_ns, self.task, self.start_ns, link,
            why, case.path, holder, (self.id, *also), True, tuple(parts), explained_ns,
            lock=case.lock, named=case.owner, since_ns=since_ns,
        )  # fmt: skip

    def unknown(self, why: str) -> Part:
        """A wait whose class is known and whose cause is not."""
        return self.over((unexplained(self.task, self.dur_ns, self.start_ns, why),))

    def device(self, why: str, link: str, io: Submission | None = None) -> Part:
        """A wait that an I/O ended, with or without an event: the device's time."""
        if self.case.cls != c.DEVICE_IO:
            return self.over(self.ios(self.start_ns, why, link, io))
        parts = kept_back(self.root(why, link), io)
        return self.over(parts) if parts[0].cap else parts[0]

    def ios(
        self, start_ns: int, why: str, link: str, io: Submission | None
    ) -> tuple[Part, ...]:
        """The end of the wait, from a time on, as the device's time, or the time before
        the I/O came to the device.

        Where no event names whose I/O it was, the class of the wait does.
        """
        owner = None if self.case.own_io else _OWNERS.get(self.case.cls)
        dur_ns = self.end_ns - start_ns
        part = Part(
            WAIT, c.DEVICE_IO, dur_ns, self.task, start_ns, link, why, (),
            None, (self.id,), True, (), dur_ns, 1, owner,
        )  # fmt: skip
        return kept_back(part, io)


def kept_back(part: Part, io: Submission | None) -> tuple[Part, ...]:
    """A device's time, the first of it a limit's where one kept the I/O back."""
    part = _submitted(part, io)
    start_ns, dur_ns = part.start_ns, part.dur_ns
    if io is None or io.cap is None or start_ns is None:
        return (part,)
    back_ns = min(io.released_ns - start_ns, dur_ns)
    if back_ns <= 0:
        return (part,)
    back = replace(
        part, cls=c.BLOCK_QUEUE, dur_ns=back_ns, explained_ns=back_ns, link=SEEN,
        why=KEPT_BACK, path=(), cap=io.cap,
    )  # fmt: skip
    if back_ns == dur_ns:
        return (back,)
    rest_ns = dur_ns - back_ns
    at_ns = start_ns + back_ns
    return back, replace(part, start_ns=at_ns, dur_ns=rest_ns, explained_ns=rest_ns)


def _submitted(part: Part, io: Submission | None) -> Part:
    """A device's time, for who submitted the I/O where an event names it."""
    if io is None:
        return part
    # One worker submits for the log now, and ends another's I/O later.
    who, task = io.task, part.task
    own = (who.tid, who.name) == (task.tid, task.name)
    evidence = (*part.evidence, io.id)
    return replace(part, owner=None if own else who, evidence=evidence)


def in_runqueue(task: Task, start_ns: int, end_ns: int, id: int) -> Part:
    """A task's time from a wake-up to running again."""
    kind, dur_ns = c.RUNQUEUE, end_ns - start_ns
    return Part(
        kind, kind, dur_ns, task, start_ns, SEEN, WOKEN, (), None, (id,), True, (),
        dur_ns,
    )  # fmt: skip


def unexplained(task: Task, dur_ns: int, start_ns: int | None, why: str) -> Part:
    """Time without any event about it."""
    kind = c.UNEXPLAINED
    return Part(kind, kind, dur_ns, task, start_ns, INFERRED, why, explained=False)


def running(
    task: Task, dur_ns: int, start_ns: int | None, why: str, known: bool
) -> Part:
    """Time in no sleep."""
    kind, explained_ns = c.RUNNING, dur_ns if known else 0
    return Part(
        kind, kind, dur_ns, task, start_ns, INFERRED, why, (), None, (), known, (),
        explained_ns,
    )  # fmt: skip


def io_work(task: Task, start_ns: int, end_ns: int) -> Part:
    """A task's time before its work, which began when an I/O ended: the device's."""
    why, dur_ns = "its work began with the end of an I/O", end_ns - start_ns
    return Part(
        WAIT, c.DEVICE_IO, dur_ns, task, start_ns, INFERRED, why, explained_ns=dur_ns
    )
