# SPDX-License-Identifier: GPL-2.0-only
"""chain: turns a stalled write into who waited for whom, down to the root.

docs/how-causes-are-inferred.md tells the algorithm and what "explained" means.
Every window is tiled by spans.py, so that the parts add up to the ns, always.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from writestall import classes as c
from writestall import endings as e
from writestall.cases import Case
from writestall.classify import role
from writestall.events import Write
from writestall.parse import Stream
from writestall.parts import INFERRED, SEEN, WAIT, Chain, Part, Task
from writestall.spans import ASLEEP, NO_SLEEP, RUNQUEUE, Span, Timelines

MAX_DEPTH = 48
MAX_PARTS = 100_000
# Alternatives to a waker are asked only where it explains less than this share.
GOOD_ENOUGH = 0.9
MAX_AGAIN = 8

# Ended by a timer, these are their own root: the kernel pauses the task on purpose,
# or the disk's driver keeps it.
_PAUSES = frozenset(
    (c.DIRTY_THROTTLE, c.MEMORY, c.BLOCK_QUEUE, c.DEVICE_IO, c.RAID_OR_DM)
)
# Ended by an interrupt that names no completion, these still ended with an I/O: what
# they wait for is let go by a process, or by the end of an I/O, and by nothing else.
_ENDED_BY_IO = frozenset(c.WAIT_CLASSES) - {c.OTHER, c.DIRTY_THROTTLE, c.MEMORY}
# Whose I/O it is that a wait of this class ends with, where no task is seen with it.
_OWNERS = {
    c.JOURNAL_BUFFER: "jbd2",
    c.JOURNAL_TRANSACTION: "jbd2",
    c.JOURNAL_COMMIT_WAIT: "the journal",
    c.PAGE_WRITEBACK: "writeback",
}
_JOURNAL_WAITS = frozenset(
    (c.JOURNAL_BUFFER, c.JOURNAL_TRANSACTION, c.JOURNAL_COMMIT_WAIT)
)


@dataclass(slots=True)
class _Walk:
    """One write's walk: the sleeps on the way down, and what it may still cost."""

    on_path: set[int] = field(default_factory=set)
    budget: int = MAX_PARTS


class _Wait(Struct, frozen=True, gc=False):
    """The part of a sleep that lies in the window that is asked about."""

    sleep: int
    id: int
    case: Case
    task: Task
    start_ns: int
    end_ns: int

    @property
    def dur_ns(self) -> int:
        """Its length in ns."""
        return self.end_ns - self.start_ns

    def root(self, why: str, link: str = SEEN) -> Part:
        """A wait at which the way ends."""
        case, dur_ns, ids = self.case, self.end_ns - self.start_ns, (self.id,)
        return Part(
            WAIT, case.cls, dur_ns, self.task, self.start_ns, link, why, case.path,
            None, ids, True, (), dur_ns,
        )  # fmt: skip

    def over(
        self, parts: tuple[Part, ...], holder: Task | None, link: str, why: str
    ) -> Part:
        """A wait that these parts tell more of."""
        case, dur_ns, ids = self.case, self.end_ns - self.start_ns, (self.id,)
        known_ns = 0
        for part in parts:
            known_ns += part.explained_ns
        return Part(
            WAIT, case.cls, dur_ns, self.task, self.start_ns, link, why, case.path,
            holder, ids, True, parts, known_ns,
        )  # fmt: skip

    def unknown(self, why: str) -> Part:
        """A wait whose class is known and whose cause is not."""
        rest = _unexplained(self.task, self.dur_ns, self.start_ns, why)
        return self.over((rest,), None, SEEN, "")


class Explainer:
    """Answers for one stream of events."""

    def __init__(self, stream: Stream) -> None:
        self._lines = lines = Timelines(stream.blocks)
        self._floor_ns = stream.begin.floor_ns if stream.begin else 1_000_000
        self._lossy = stream.lost_events > 0
        self._queue = lines.overlaps(lambda case: case.cls == c.LOG_SPACE)
        self._submitters = lines.overlaps(lambda case: case.submitter)
        # Who has the I/O in its hands that a wait of this class is for, if not any.
        self._with_io = dict.fromkeys(_JOURNAL_WAITS, lines.overlaps(_is_journals_io))
        self._with_io[c.DIRTY_THROTTLE] = lines.overlaps(
            lambda case: case.submitter and case.task.role == c.WRITEBACK
        )

    def chain(self, id: int, write: Write) -> Chain:
        """The chain of one write; `id` is its event's line number."""
        task = Task(write.tid, write.comm or "?", role(write.kstack, write.comm))
        walk = _Walk()
        parts: list[Part] = []
        awake_ns = asleep_ns = 0
        end_ns = write.t_ns + write.dur_ns
        for span in self._lines.spans(write.tid, write.t_ns, end_ns):
            kind, start_ns, stop_ns, sleep = span
            if sleep == NO_SLEEP:
                awake_ns += stop_ns - start_ns
                continue
            if kind == ASLEEP:
                asleep_ns += stop_ns - start_ns
            parts.append(self._asleep(span, task, walk))
        parts += self._own_rest(write, task, awake_ns, asleep_ns)
        return Chain(id, write, task, tuple(parts))

    def _own_rest(
        self, write: Write, task: Task, awake_ns: int, asleep_ns: int
    ) -> Iterator[Part]:
        """The write's time in no block: sleeps too short or lost, and running.

        The tracer counted every sleep of the call; what the blocks do not cover is
        short sleeps, as far as their number can hold it, else it was lost.
        """
        missing_ns = min(max((write.slept_ns or 0) - asleep_ns, 0), awake_ns)
        blocks = len(
            self._lines.sleeps(write.tid, write.t_ns, write.t_ns + write.dur_ns)
        )
        most_ns = max((write.sleeps or 0) - blocks, 0) * self._floor_ns
        short_ns = min(missing_ns, most_ns)
        if short_ns:
            why = f"sleeps shorter than {self._floor_ns / 1e6:g} ms, in sum"
            yield Part(
                c.SHORT_SLEEPS, c.OTHER, short_ns, task, why=why, explained=False
            )
        lost_ns = missing_ns - short_ns
        rest_ns = awake_ns - missing_ns
        if self._lossy or write.slept_ns is None:
            lost_ns, rest_ns = lost_ns + rest_ns, 0
        if lost_ns:
            why = "no event tells what it did"
            yield _unexplained(task, lost_ns, None, why)
        if rest_ns:
            why = "in no sleep: on a CPU, or preempted"
            yield _awake(task, None, rest_ns, why, True)

    # A span of a task in which it slept or waited for a CPU.
    def _asleep(self, span: Span, task: Task, walk: _Walk) -> Part:
        kind, start_ns, end_ns, sleep = span
        id = self._lines.ids[sleep]
        if kind == RUNQUEUE:
            dur_ns, why = end_ns - start_ns, "woken, waiting for a CPU"
            return Part(
                kind, kind, dur_ns, task, start_ns, SEEN, why, (), None, (id,), True,
                (), dur_ns,
            )  # fmt: skip
        wait = _Wait(sleep, id, self._lines.case(sleep), task, start_ns, end_ns)
        walk.budget -= 1
        if sleep in walk.on_path:
            return wait.unknown("waits for itself: a circle of wake-ups")
        if walk.budget < 0 or len(walk.on_path) >= MAX_DEPTH:
            return wait.unknown("the chain is too long to follow")
        walk.on_path.add(sleep)
        try:
            return self._ended(wait, walk)
        finally:
            walk.on_path.discard(sleep)

    # What ended a wait decides how it goes on.
    def _ended(self, wait: _Wait, walk: _Walk) -> Part:
        case = wait.case
        how, cls = case.how, case.cls
        if case.submitter:
            return wait.root("asleep on the bio's way down")
        if how == e.TASK:
            return self._held(wait, walk)
        if how == e.TIMER and cls in _PAUSES:
            return self._paused(wait, walk)
        if how == e.COMPLETION or (
            how in (e.INTERRUPT, e.TIMER) and cls in _ENDED_BY_IO
        ):
            return self._device(wait, walk)
        if cls == c.DEVICE_IO and how != e.UNKNOWN:
            return wait.root("ended by an interrupt", INFERRED)
        return wait.unknown(_UNKNOWN_ENDINGS[how])

    # A pause made on purpose is its own root; but a writer is throttled because
    # writeback is slow, and while a flusher sleeps with its bios in its hands, that
    # is why. The rest of the pause stays the pause's.
    def _paused(self, wait: _Wait, walk: _Walk) -> Part:
        why = "ended by a timer"
        asleep = self._with_the_io(wait) if wait.case.cls == c.DIRTY_THROTTLE else []
        if not asleep:
            return wait.root(why)
        pause = replace(wait.root(why), path=())
        parts = tuple(
            part
            if part.explained
            else replace(
                pause,
                start_ns=part.start_ns,
                dur_ns=part.dur_ns,
                explained_ns=part.dur_ns,
            )
            for part in self._doings(asleep[-1].task, wait, False, walk)
        )
        return wait.over(parts, asleep[-1].task, INFERRED, _WITH_IO)

    # The wait ended with an I/O: the device's time, unless one task slept for most of
    # the wait with the I/O in its hands. Then that task held things up, and what came
    # after its last sleep is the device's.
    def _device(self, wait: _Wait, walk: _Walk) -> Part:
        link = SEEN if wait.case.how == e.COMPLETION else INFERRED
        why = "ended by the completion of an I/O"
        cls = wait.case.cls
        if cls == c.DEVICE_IO:
            return wait.root(why, link)
        asleep = self._with_the_io(wait)
        if not asleep:
            io = replace(wait.root(why, link), cls=c.DEVICE_IO, path=())
            io = replace(io, owner=_OWNERS.get(cls, ""))
            return wait.over((io,), None, SEEN, "")
        holder = asleep[-1].task
        parts = self._doings(holder, wait, False, walk)
        last = parts[-1]
        if last.kind == c.RUNNING:
            io = replace(last, kind=WAIT, cls=c.DEVICE_IO, explained=True, why=why)
            io = replace(io, evidence=(wait.id,), explained_ns=io.dur_ns)
            parts = (*parts[:-1], io)
        return wait.over(parts, holder, INFERRED, _WITH_IO)

    def _with_the_io(self, wait: _Wait) -> list[Case]:
        """Sleeps of the one task that had the I/O in its hands for most of a wait,
        or for any part of a pause, whose rest stays its own.

        For the journal's I/O that is the journal, also where it waits for what it has
        sent; for any other, a task asleep with a bio that it has not sent; a flusher,
        where a writer is throttled.
        """
        start_ns, end_ns, cls = wait.start_ns, wait.end_ns, wait.case.cls
        lines = self._lines
        by_task: dict[int, list[Case]] = {}
        covered_ns: dict[int, int] = {}
        for sleep in self._with_io.get(cls, self._submitters).find(start_ns, end_ns):
            case = lines.case(sleep)
            tid = case.task.tid
            first_ns = max(lines.start_ns(sleep), start_ns)
            common_ns = min(lines.wake_ns(sleep), end_ns) - first_ns
            covered_ns[tid] = covered_ns.get(tid, 0) + common_ns
            by_task.setdefault(tid, []).append(case)
        by_task.pop(wait.task.tid, None)
        best = max(by_task, key=lambda tid: covered_ns[tid], default=None)
        least_ns = 0 if cls == c.DIRTY_THROTTLE else wait.dur_ns / 2
        if best is None or covered_ns[best] <= least_ns:
            return []
        return by_task[best]

    # A task ended the wait: it, or who ended the next wait for the same thing, is
    # asked what it did meanwhile; the better answer counts.
    def _held(self, wait: _Wait, walk: _Walk) -> Part:
        answer = self._ask(wait, wait.case, walk, SEEN)
        enough_ns = GOOD_ENOUGH * wait.dur_ns
        if answer.explained_ns >= enough_ns:
            return answer
        for later in self._again(wait):
            other = self._ask(wait, self._lines.case(later), walk, INFERRED)
            if other.explained_ns > answer.explained_ns:
                why = "the wake-up did not help; this one ended the next wait for it"
                ids = (wait.id, self._lines.ids[later])
                answer = replace(other, why=why, evidence=ids)
            if answer.explained_ns >= enough_ns:
                return answer
        for earlier in self._ahead(wait):
            other = self._ask(wait, self._lines.case(earlier), walk, INFERRED)
            if other.explained_ns > answer.explained_ns:
                ids = (wait.id, self._lines.ids[earlier])
                answer = replace(other, why=_AHEAD, evidence=ids)
            if answer.explained_ns >= enough_ns:
                break
        return answer

    # Room in the log is given in the order of asking, and by whoever frees some, also
    # by one who returns what it had not used: what held up the queue's first held up
    # all (fs/xfs/xfs_log.c, xlog_grant_head_wait() and xlog_grant_head_wake()).
    def _ahead(self, wait: _Wait) -> list[int]:
        if wait.case.cls != c.LOG_SPACE:
            return []
        lines, queue = self._lines, self._queue.find(wait.start_ns, wait.end_ns)
        ahead = [
            sleep
            for sleep in queue
            if lines.start_ns(sleep) < lines.start_ns(wait.sleep)
            and lines.wake_ns(sleep) <= wait.end_ns
            and lines.case(sleep).how == e.TASK
        ]
        return ahead[: -MAX_AGAIN - 1 : -1]

    # Sleeps that follow at once on the same stack: the wake-up before did not help.
    def _again(self, wait: _Wait) -> Iterator[int]:
        lines, before = self._lines, wait.sleep
        for after in lines.following(before, MAX_AGAIN):
            if lines.start_ns(after) - lines.run_ns(before) >= self._floor_ns:
                return
            if lines.case(after).stack != wait.case.stack:
                return
            before = after
            if lines.case(after).how == e.TASK:
                yield after

    def _ask(self, wait: _Wait, by: Case, walk: _Walk, link: str) -> Part:
        """The wait, with what the waker did during it as its parts."""
        holder = by.waker
        assert holder is not None
        parts = self._doings(holder, wait, by.completes, walk)
        if wait.case.cls == c.DEVICE_IO and by.completes and len(parts) == 1:
            return wait.root(f"its I/O was completed by {holder.comm}")
        return wait.over(
            parts, holder, link if by.releases else INFERRED, "it ended the wait"
        )

    # What a task did during a wait, as parts that tile it.
    def _doings(
        self, task: Task, wait: _Wait, completes: bool, walk: _Walk
    ) -> tuple[Part, ...]:
        parts: list[Part] = []
        for span in self._lines.spans(task.tid, wait.start_ns, wait.end_ns):
            if span[3] == NO_SLEEP:
                parts.append(self._between(span, task, completes))
            else:
                parts.append(self._asleep(span, task, walk))
        return tuple(parts)

    # A holder's time between its sleeps. A short gap between known sleeps is its own
    # work; what a task did in a long one, no event tells.
    def _between(self, span: Span, holder: Task, completes: bool) -> Part:
        _, start_ns, end_ns, _ = span
        dur_ns = end_ns - start_ns
        if completes:
            why = "its work began with the end of an I/O"
            return Part(
                WAIT, c.DEVICE_IO, dur_ns, holder, start_ns, INFERRED, why,
                explained_ns=dur_ns,
            )  # fmt: skip
        known = dur_ns < self._floor_ns and not self._lossy
        why = "between its sleeps" if known else "in no sleep that was traced"
        return _awake(holder, start_ns, dur_ns, why, known)


_AHEAD = "it ended the wait of one that stood before it in the queue"
_WITH_IO = "asleep with the I/O in its hands"
_UNKNOWN_ENDINGS = {
    e.UNKNOWN: "who ended the wait is not known",
    e.TIMER: "ended by a timer",
    e.INTERRUPT: "ended by an interrupt",
    e.COMPLETION: "ended by the completion of an I/O",
}


def _unexplained(task: Task, dur_ns: int, start_ns: int | None, why: str) -> Part:
    kind = c.UNEXPLAINED
    return Part(kind, kind, dur_ns, task, start_ns, INFERRED, why, explained=False)


def _awake(
    task: Task, start_ns: int | None, dur_ns: int, why: str, known: bool
) -> Part:
    kind = c.RUNNING
    return Part(
        kind, kind, dur_ns, task, start_ns, INFERRED, why, (), None, (), known, (),
        dur_ns if known else 0,
    )  # fmt: skip


def _is_journals_io(case: Case) -> bool:
    """True for the journal asleep with an I/O: on its way down, or waiting for it."""
    return case.task.role == c.JOURNAL and case.cls == c.DEVICE_IO
