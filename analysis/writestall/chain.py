# SPDX-License-Identifier: GPL-2.0-only
"""chain: turns a stalled write into who waited for whom, down to the root.

docs/how-causes-are-inferred.md tells the algorithm and what "explained" means.
Every window is tiled by spans.py, so that the parts add up to the ns, always.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from writestall import classes as c
from writestall import endings as e
from writestall.classify import role
from writestall.events import Block, Write
from writestall.frames import parse_stack
from writestall.parse import Stream
from writestall.parts import INFERRED, SEEN, WAIT, Chain, Part, Task
from writestall.spans import ASLEEP, RUNQUEUE, Overlaps, Sleep, Span, Timelines

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


class Explainer:
    """Answers for one stream of events."""

    def __init__(self, stream: Stream) -> None:
        self._lines = Timelines(stream.blocks)
        self._floor_ns = stream.begin.floor_ns if stream.begin else 1_000_000
        self._lossy = stream.lost_events > 0
        io = [sleep for sleep in self._lines.all_sleeps() if _is_io(sleep)]
        journal = [sleep for sleep in io if sleep.role == c.JOURNAL]
        submitters = [s for s in io if e.is_submitter(s.block, s.verdict)]
        flushers = [sleep for sleep in submitters if sleep.role == c.WRITEBACK]
        self._submitters = Overlaps(submitters)
        # Who has the I/O in its hands that a wait of this class is for, if not any.
        self._with_io = dict.fromkeys(_JOURNAL_WAITS, Overlaps(journal))
        self._with_io[c.DIRTY_THROTTLE] = Overlaps(flushers)

    def chain(self, id: int, write: Write) -> Chain:
        """The chain of one write; `id` is its event's line number."""
        task = Task(write.tid, write.comm or "?", role(write.kstack, write.comm))
        walk = _Walk()
        parts: list[Part] = []
        awake_ns = asleep_ns = 0
        for span in self._lines.spans(write.tid, write.t_ns, write.t_ns + write.dur_ns):
            if span.sleep is None:
                awake_ns += span.dur_ns
                continue
            asleep_ns += span.dur_ns if span.kind == ASLEEP else 0
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
            yield Part(c.RUNNING, c.RUNNING, rest_ns, task, link=INFERRED, why=why)

    # A span of a task in which it slept or waited for a CPU.
    def _asleep(self, span: Span, task: Task, walk: _Walk) -> Part:
        assert span.sleep is not None
        if span.kind == RUNQUEUE:
            return Part(
                c.RUNQUEUE,
                c.RUNQUEUE,
                span.dur_ns,
                task,
                span.start_ns,
                why="woken, waiting for a CPU",
                evidence=(span.sleep.id,),
            )
        sleep, verdict = span.sleep, span.sleep.verdict
        wait = Part(
            WAIT,
            verdict.cls,
            span.dur_ns,
            task,
            span.start_ns,
            path=verdict.path,
            evidence=(sleep.id,),
        )
        walk.budget -= 1
        if sleep.id in walk.on_path:
            return _dead_end(wait, "waits for itself: a circle of wake-ups")
        if walk.budget < 0 or len(walk.on_path) >= MAX_DEPTH:
            return _dead_end(wait, "the chain is too long to follow")
        walk.on_path.add(sleep.id)
        try:
            return self._ended(wait, sleep, walk)
        finally:
            walk.on_path.discard(sleep.id)

    # What ended a wait decides how it goes on.
    def _ended(self, wait: Part, sleep: Sleep, walk: _Walk) -> Part:
        block, how = sleep.block, e.ending(sleep.block)
        if e.is_submitter(block, sleep.verdict):
            return replace(wait, why="asleep on the bio's way down")
        if how == e.TASK:
            return self._held(wait, sleep, walk)
        if how == e.TIMER and wait.cls in _PAUSES:
            return self._paused(wait, walk)
        if how == e.COMPLETION or (
            how in (e.INTERRUPT, e.TIMER) and wait.cls in _ENDED_BY_IO
        ):
            return self._device(wait, how, walk)
        if wait.cls == c.DEVICE_IO and how != e.UNKNOWN:
            return replace(wait, link=INFERRED, why="ended by an interrupt")
        return _dead_end(wait, _UNKNOWN_ENDINGS[how])

    # A pause made on purpose is its own root; but a writer is throttled because
    # writeback is slow, and while a flusher sleeps with its bios in its hands, that
    # is why. The rest of the pause stays the pause's.
    def _paused(self, wait: Part, walk: _Walk) -> Part:
        why = "ended by a timer"
        asleep = self._with_the_io(wait) if wait.cls == c.DIRTY_THROTTLE else []
        if not asleep:
            return replace(wait, why=why)
        pause = replace(wait, path=(), why=why)
        held = self._held_by_io(wait, asleep, walk)
        parts = tuple(
            part
            if part.explained
            else replace(pause, start_ns=part.start_ns, dur_ns=part.dur_ns)
            for part in held.parts
        )
        return replace(held, parts=parts)

    # The wait ended with an I/O: the device's time, unless one task slept for most of
    # the wait with the I/O in its hands. Then that task held things up, and what came
    # after its last sleep is the device's.
    def _device(self, wait: Part, how: str, walk: _Walk) -> Part:
        assert wait.start_ns is not None
        link = SEEN if how == e.COMPLETION else INFERRED
        why = "ended by the completion of an I/O"
        if wait.cls == c.DEVICE_IO:
            return replace(wait, link=link, why=why)
        asleep = self._with_the_io(wait)
        if not asleep:
            owner = _OWNERS.get(wait.cls, "")
            io = replace(wait, cls=c.DEVICE_IO, link=link, why=why, path=())
            return replace(wait, parts=(replace(io, owner=owner),))
        held = self._held_by_io(wait, asleep, walk)
        last = held.parts[-1]
        if last.kind != c.RUNNING:
            return held
        io = replace(last, kind=WAIT, cls=c.DEVICE_IO, explained=True, why=why)
        io = replace(io, evidence=wait.evidence)
        return replace(held, parts=(*held.parts[:-1], io))

    def _held_by_io(self, wait: Part, asleep: list[Sleep], walk: _Walk) -> Part:
        """The wait, held by the task whose sleeps these are; its doings as parts."""
        assert wait.start_ns is not None
        block = asleep[-1].block
        holder = Task(block.tid, block.comm or "?", asleep[-1].role)
        end_ns = wait.start_ns + wait.dur_ns
        return replace(
            wait,
            holder=holder,
            link=INFERRED,
            why="asleep with the I/O in its hands",
            parts=tuple(self._doings(holder, wait.start_ns, end_ns, False, walk)),
        )

    def _with_the_io(self, wait: Part) -> list[Sleep]:
        """Sleeps of the one task that had the I/O in its hands for most of a wait,
        or for any part of a pause, whose rest stays its own.

        For the journal's I/O that is the journal, also where it waits for what it has
        sent; for any other, a task asleep with a bio that it has not sent; a flusher,
        where a writer is throttled.
        """
        assert wait.start_ns is not None
        start_ns, end_ns = wait.start_ns, wait.start_ns + wait.dur_ns
        by_task: dict[int, list[Sleep]] = {}
        covered_ns: dict[int, int] = {}
        for sleep in self._with_io.get(wait.cls, self._submitters).find(
            start_ns, end_ns
        ):
            tid = sleep.block.tid
            common_ns = min(sleep.wake_ns, end_ns) - max(sleep.start_ns, start_ns)
            covered_ns[tid] = covered_ns.get(tid, 0) + common_ns
            by_task.setdefault(tid, []).append(sleep)
        by_task.pop(wait.task.tid, None)
        best = max(by_task, key=lambda tid: covered_ns[tid], default=None)
        least_ns = 0 if wait.cls == c.DIRTY_THROTTLE else wait.dur_ns / 2
        if best is None or covered_ns[best] <= least_ns:
            return []
        return by_task[best]

    # A task ended the wait: it, or who ended the next wait for the same thing, is
    # asked what it did meanwhile; the better answer counts.
    def _held(self, wait: Part, sleep: Sleep, walk: _Walk) -> Part:
        answer = self._ask(wait, sleep.block, walk, SEEN)
        for later in self._again(sleep):
            if answer.explained_ns >= GOOD_ENOUGH * wait.dur_ns:
                break
            other = self._ask(wait, later.block, walk, INFERRED)
            if other.explained_ns > answer.explained_ns:
                why = "the wake-up did not help; this one ended the next wait for it"
                answer = replace(other, why=why, evidence=(sleep.id, later.id))
        return answer

    # Sleeps that follow at once on the same stack: the wake-up before did not help.
    def _again(self, sleep: Sleep) -> Iterator[Sleep]:
        before = sleep
        stack = parse_stack(sleep.block.kstack)
        for after in self._lines.following(sleep, MAX_AGAIN):
            if after.start_ns - before.run_ns >= self._floor_ns:
                return
            if parse_stack(after.block.kstack) != stack:
                return
            before = after
            if e.ending(after.block) == e.TASK:
                yield after

    def _ask(self, wait: Part, block: Block, walk: _Walk, link: str) -> Part:
        """The wait, with what the waker did during it as its parts."""
        assert wait.start_ns is not None and block.waker_tid is not None
        comm = block.waker_comm or "?"
        holder = Task(block.waker_tid, comm, role(block.waker_kstack, comm))
        completes = e.completes_io(block)
        end_ns = wait.start_ns + wait.dur_ns
        parts = self._doings(holder, wait.start_ns, end_ns, completes, walk)
        if wait.cls == c.DEVICE_IO and completes and len(parts) == 1:
            return replace(wait, why=f"its I/O was completed by {holder.comm}")
        return replace(
            wait,
            holder=holder,
            link=link if e.releases(block) else INFERRED,
            why="it ended the wait",
            parts=tuple(parts),
        )

    # What a task did in a window, as parts that tile it.
    def _doings(
        self, task: Task, start_ns: int, end_ns: int, completes: bool, walk: _Walk
    ) -> list[Part]:
        return [
            self._awake(span, task, completes)
            if span.sleep is None
            else self._asleep(span, task, walk)
            for span in self._lines.spans(task.tid, start_ns, end_ns)
        ]

    # A holder's time between its sleeps. A short gap between known sleeps is its own
    # work; what a task did in a long one, no event tells.
    def _awake(self, span: Span, holder: Task, completes: bool) -> Part:
        if completes:
            why = "its work began with the end of an I/O"
            return Part(
                WAIT,
                c.DEVICE_IO,
                span.dur_ns,
                holder,
                span.start_ns,
                link=INFERRED,
                why=why,
            )
        known = span.dur_ns < self._floor_ns and not self._lossy
        return Part(
            c.RUNNING,
            c.RUNNING,
            span.dur_ns,
            holder,
            span.start_ns,
            link=INFERRED,
            why="between its sleeps" if known else "in no sleep that was traced",
            explained=known,
        )


_UNKNOWN_ENDINGS = {
    e.UNKNOWN: "who ended the wait is not known",
    e.TIMER: "ended by a timer",
    e.INTERRUPT: "ended by an interrupt",
    e.COMPLETION: "ended by the completion of an I/O",
}


def _unexplained(task: Task, dur_ns: int, start_ns: int | None, why: str) -> Part:
    kind = c.UNEXPLAINED
    return Part(kind, kind, dur_ns, task, start_ns, INFERRED, why, explained=False)


def _dead_end(wait: Part, why: str) -> Part:
    """A wait whose class is known and whose cause is not."""
    rest = _unexplained(wait.task, wait.dur_ns, wait.start_ns, why)
    return replace(wait, parts=(rest,))


def _is_io(sleep: Sleep) -> bool:
    """True for a task asleep with an I/O: on its way down, or the journal's own."""
    verdict = sleep.verdict
    return e.is_submitter(sleep.block, verdict) or (
        verdict.cls == c.DEVICE_IO and sleep.role == c.JOURNAL
    )
