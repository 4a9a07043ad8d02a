# SPDX-License-Identifier: GPL-2.0-only
"""explainer: follow a stalled write to who waited for whom, down to the root.

docs/how-causes-are-inferred.md has the algorithm and what "explained" means. Every
window is tiled, so that the parts add up to the ns, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from writestall.chain import cases
from writestall.chain.cases import Case
from writestall.chain.cgroups import Cgroups
from writestall.chain.parts import INFERRED, SEEN, WAIT, Chain, Part, Task, task_of
from writestall.chain.submissions import Submission, Submissions
from writestall.chain.timelines import ASLEEP, NO_SLEEP, RUNQUEUE, IoHolders, Timelines
from writestall.chain.waits import (
    Wait,
    in_runqueue,
    io_work,
    kept_back,
    running,
    unexplained,
)
from writestall.classify import endings as e
from writestall.classify.owners import XFS_LOG, is_xfs_log
from writestall.common.windows import window_of
from writestall.events.blocks import Blocks
from writestall.events.contract import Write
from writestall.events.stream import Stream
from writestall_base import wait_classes as c

MAX_DEPTH = 48
MAX_PARTS = 100_000
# Alternatives to a waker are asked only where it explains less than this share.
GOOD_ENOUGH = 0.9
# So many next sleeps, or ones ahead in the queue, are asked.
MAX_AGAIN = 8

# Parts of a task's time from one time to another.
Work = Callable[[Task, int, int], Sequence[Part]]

_WITH_IO = "slept while it held the I/O"
_SUBMITTED_IT = "it submitted the I/O that ended the wait"
_ENDED_IT = "it ended the wait"
_NAMED = "the lock named it when the wait began"
_NO_HELP = "the wake-up did not help; this one ended the next wait for it"
_AHEAD = "it ended the wait of one that stood before it in the queue"
_WHY = {
    e.COMPLETION: "ended by the completion of an I/O",
    e.TIMER: "ended by a timer",
    e.INTERRUPT: "ended by an interrupt",
    e.UNKNOWN: "who ended the wait is not known",
}


class Explainer:
    """Builds the chain of each stalled write in a stream."""

    def __init__(self, stream: Stream, sleeps: Blocks | None = None) -> None:
        """Of other sleeps than the uninterruptible ones, where they are given."""
        self._cgroups = cgroups = Cgroups(stream.cgroups)
        blocks = stream.blocks if sleeps is None else sleeps
        self._timelines = timelines = Timelines(blocks, cgroups)
        self._floor_ns = stream.begin.floor_ns if stream.begin else 1_000_000
        self._lossy = stream.lost_events > 0
        self._io_holders = IoHolders(timelines)
        self._submissions = Submissions(stream.ios, cgroups)
        self._log_queue = timelines.overlaps(lambda case: case.cls == c.LOG_SPACE)
        # Of the chain being made: the sleeps being followed, and how many more waits
        # may be.
        self._followed: list[int] = []
        self._budget = 0

    def chain(self, id: int, write: Write) -> Chain:
        """The chain of one write; `id` is its event's line number."""
        group = self._cgroups.of(write.cgroup, write.cgroup_v1)
        task = task_of(write.tid, write.comm, write.kstack, group)
        self._budget = MAX_PARTS
        # Its time in no sleep has no parts yet.
        parts = self._tiled(task, *window_of(write), lambda *_: ())
        awake_ns = write.dur_ns - sum(part.dur_ns for part in parts)
        asleep_ns = sum(part.dur_ns for part in parts if part.kind == WAIT)
        parts += self._rest(write, task, awake_ns, asleep_ns)
        return Chain(id, write, task, tuple(parts))

    def _rest(
        self, write: Write, task: Task, awake_ns: int, asleep_ns: int
    ) -> Iterator[Part]:
        """The write's time in no wait: sleeps too short or lost, and running.

        The tracer counted every sleep of the call; what the blocks do not cover is
        short sleeps, as far as their number can hold it, else it was lost.
        """
        end_ns = write.t_ns + write.dur_ns
        missing_ns = min(max((write.slept_ns or 0) - asleep_ns, 0), awake_ns)
        lost_ns, rest_ns = missing_ns, awake_ns - missing_ns
        if missing_ns:
            blocks = len(self._timelines.sleeps(task.tid, write.t_ns, end_ns))
            most_ns = max((write.sleeps or 0) - blocks, 0) * self._floor_ns
            short_ns = min(missing_ns, most_ns)
            lost_ns -= short_ns
            if short_ns:
                kind = c.SHORT_SLEEPS
                why = f"sleeps shorter than {self._floor_ns / 1e6:g} ms, in sum"
                yield Part(kind, c.OTHER, short_ns, task, why=why, explained=False)
        if self._lossy or write.slept_ns is None:
            lost_ns, rest_ns = lost_ns + rest_ns, 0
        if lost_ns:
            yield unexplained(task, lost_ns, None, "no event shows what it did")
        if rest_ns:
            why = "in no sleep: on a CPU, or preempted"
            yield running(task, rest_ns, None, why, True)

    def _activity(
        self, holder: Task, wait: Wait, completes: bool = False
    ) -> list[Part]:
        """What a task did during a wait, as parts that tile it."""
        self._followed.append(wait.sleep)
        work = partial(self._io_work, wait) if completes else None
        parts = self._tiled(holder, wait.start_ns, wait.end_ns, work)
        self._followed.pop()
        return parts

    def _tiled(
        self, task: Task, start_ns: int, end_ns: int, work: Work | None = None
    ) -> list[Part]:
        """What a task did in a window; `work` makes parts of its time in no sleep."""
        parts: list[Part] = []
        for doing, since_ns, until_ns, sleep in self._timelines.spans(
            task.tid, start_ns, end_ns
        ):
            if doing == ASLEEP:
                parts.append(self._asleep(task, sleep, since_ns, until_ns))
            elif doing == RUNQUEUE:
                id = self._timelines.id(sleep)
                parts.append(in_runqueue(task, since_ns, until_ns, id))
            elif work:
                parts += work(task, since_ns, until_ns)
            else:
                parts.append(self._gap(task, since_ns, until_ns))
        return parts

    def _io_work(
        self, wait: Wait, worker: Task, start_ns: int, end_ns: int
    ) -> Sequence[Part]:
        """A worker's time until the I/O was done that its work began with.

        Before that, the worker may have served others, too: an I/O that the waiting
        task submitted counts through all of that.
        """
        io = self._submissions.own(wait.task.tid, start_ns, wait.end_ns)
        if io is None or io.t_ns >= end_ns:
            io = self._submissions.ended(end_ns, end_ns - start_ns)
        if io and wait.case.cls == c.JOURNAL_COMMIT_WAIT and is_xfs_log(wait.case.path):
            log = replace(io.task, role=c.JOURNAL, name=XFS_LOG)
            io = replace(io, task=log)
        return kept_back(io_work(worker, start_ns, end_ns), io)

    def _gap(self, holder: Task, start_ns: int, end_ns: int) -> Part:
        """A holder's time between its sleeps.

        A short gap between known sleeps is its own work; what a task did in a long
        one, no event shows.
        """
        dur_ns = end_ns - start_ns
        known = dur_ns < self._floor_ns and not self._lossy
        why = "between its sleeps" if known else "in no sleep that was traced"
        return running(holder, dur_ns, start_ns, why, known)

    def _asleep(self, task: Task, sleep: int, start_ns: int, end_ns: int) -> Part:
        """The part of a sleep that lies in a window, followed where it can be."""
        wait = self._timelines.wait(sleep, task, start_ns, end_ns)
        self._budget -= 1
        if sleep in self._followed:
            return wait.unknown("waits for itself: a circle of wake-ups")
        if self._budget < 0 or len(self._followed) >= MAX_DEPTH:
            return wait.unknown("the chain is too long to follow")
        return self._ended(wait)

    def _ended(self, wait: Wait) -> Part:
        """Choose the next link by what ended the wait."""
        case = wait.case
        io = self._io_of(wait)
        if case.for_an_io:
            holder = self._io_holders.find(wait)
            if holder and (io is None or io.task.tid == holder.tid):
                return self._with_io(wait, holder)
        if io and case.for_one_io and wait.start_ns < io.t_ns < wait.end_ns:
            return self._submitted(wait, io)
        match case.next_link:
            case cases.SUBMITTER:
                return wait.root("asleep on the bio's way down")
            case cases.HOLDER:
                return self._held(wait)
            case cases.WAKER:
                return self._woken(wait)
            case cases.PAUSE:
                return self._paused(wait)
            case cases.DEVICE:
                link = SEEN if case.how == e.COMPLETION else INFERRED
                return wait.device(_WHY[e.COMPLETION], link, io)
            case cases.INTERRUPT:
                return wait.root(_WHY[e.INTERRUPT], INFERRED)
        return wait.unknown(_WHY[case.how])

    def _io_of(self, wait: Wait) -> Submission | None:
        """The I/O whose completion ended a wait; None without an `io` event."""
        if wait.case.how != e.COMPLETION or wait.case.next_link != cases.DEVICE:
            return None
        return self._submissions.ended(self._timelines.wake_ns(wait.sleep))

    def _submitted(self, wait: Wait, io: Submission) -> Part:
        """A wait for an I/O that was submitted while it lasted.

        Until then it was for whoever submitted it, then for the device; for the device
        alone where no event shows what the submitter did before.
        """
        device = wait.device(_WHY[e.COMPLETION], SEEN, io)
        if io.task.tid == wait.task.tid:
            return device
        parts = self._activity(io.task, replace(wait, end_ns=io.t_ns))
        parts += wait.ios(io.t_ns, _WHY[e.COMPLETION], SEEN, io)
        answer = wait.over(parts, io.task, INFERRED, _SUBMITTED_IT)
        enough_ns = GOOD_ENOUGH * wait.dur_ns
        return answer if answer.explained_ns >= enough_ns else device

    def _with_io(self, wait: Wait, holder: Task) -> Part:
        """A wait for an I/O that another task held."""
        parts = self._activity(holder, wait)
        if wait.case.next_link == cases.PAUSE:
            parts = [self._throttled(wait, part) for part in parts]
        elif parts[-1].kind == c.RUNNING:
            # Time after the holder's last sleep is device time.
            last = parts[-1]
            parts[-1] = replace(
                last, kind=WAIT, cls=c.DEVICE_IO, why=_WHY[e.COMPLETION],
                evidence=(wait.id,), explained=True, explained_ns=last.dur_ns,
            )  # fmt: skip
        return wait.over(parts, holder, INFERRED, _WITH_IO)

    def _throttled(self, wait: Wait, part: Part) -> Part:
        """A part of a pause: what the flusher does not explain stays the pause's."""
        if part.explained:
            return part
        return replace(
            wait.root(_WHY[e.TIMER]), path=(), start_ns=part.start_ns,
            dur_ns=part.dur_ns, explained_ns=part.dur_ns,
        )  # fmt: skip

    def _held(self, wait: Wait) -> Part:
        """A wait that a task ended: it, or another task, is asked what it did
        meanwhile; the best explained answer counts.
        """
        enough_ns = GOOD_ENOUGH * wait.dur_ns
        best = self._asked(wait, wait.case, *self._link(wait), _ENDED_IT)
        if best.explained_ns >= enough_ns:
            return best
        for answer in self._other_answers(wait):
            if answer.explained_ns > best.explained_ns:
                best = answer
                if best.explained_ns >= enough_ns:
                    break
        return best

    def _paused(self, wait: Wait) -> Part:
        """A wait that a timer ended."""
        return wait.root(_WHY[e.TIMER])

    def _woken(self, wait: Wait) -> Part:
        """An interruptible wait, which critical paths have."""
        return wait.unknown("an interruptible sleep")

    def _link(self, wait: Wait) -> tuple[str, int | None]:
        """Whether events show that the waker held what was waited for, and since when.

        They do where the lock named it, or one that it got the lock from; where the
        lock named nobody, where its stack shows the release.
        """
        if wait.case.owner is None:
            return SEEN if wait.case.releases else INFERRED, None
        since_ns = self._held_since(wait.sleep, wait.case.owner)
        return INFERRED if since_ns is None else SEEN, since_ns

    def _held_since(self, sleep: int, owner: Task) -> int | None:
        """When the waker had a lock that was its owner's at the start of the sleep.

        Each that had it in between had waited for it, and was woken by the one before;
        None: events do not show that.
        """
        timelines, at = self._timelines, sleep
        lock, start_ns = timelines.lock(sleep), timelines.start_ns(sleep)
        since_ns = start_ns
        while waker := timelines.case(at).waker:
            window = start_ns, timelines.wake_ns(at)
            before = timelines.last_wait_for(lock, waker.tid, *window)
            if at == sleep and before != NO_SLEEP:
                since_ns = timelines.wake_ns(before)
            if waker.tid == owner.tid:
                return since_ns
            if before == NO_SLEEP:
                return None
            at = before
        return None

    def _asked(
        self,
        wait: Wait,
        by: Case,
        link: str,
        since_ns: int | None,
        why: str,
        also: tuple[int, ...] = (),
    ) -> Part:
        """The wait, with what a waker did during it as its parts."""
        holder = by.waker
        assert holder is not None
        parts = self._activity(holder, wait, by.completes)
        if by.completes and wait.case.cls == c.DEVICE_IO and len(parts) == 1:
            why = why if also else f"its I/O was completed by {holder.comm}"
            evidence = (wait.id, *also, *parts[0].evidence)
            only = parts[0]
            return replace(
                wait.root(why), cls=only.cls, evidence=evidence, owner=only.owner,
                cap=only.cap,
            )  # fmt: skip
        return wait.over(parts, holder, link, why, also, since_ns)

    def _other_answers(self, wait: Wait) -> Iterator[Part]:
        """The wait as others explain it: the task that the lock named, other wakers."""
        case = wait.case
        if case.owner and case.waker and case.owner.tid != case.waker.tid:
            parts = self._activity(case.owner, wait)
            yield wait.over(parts, case.owner, SEEN, _NAMED)
        for sleep, why in self._other_wakers(wait):
            by, also = self._timelines.case(sleep), (self._timelines.id(sleep),)
            yield self._asked(wait, by, INFERRED, None, why, also)

    def _other_wakers(self, wait: Wait) -> Iterator[tuple[int, str]]:
        """Sleeps whose wakers are asked, too, and why."""
        for sleep in self._useless_wakeups(wait):
            yield sleep, _NO_HELP
        if wait.case.cls == c.LOG_SPACE:
            for sleep in self._queued_before(wait):
                yield sleep, _AHEAD

    def _useless_wakeups(self, wait: Wait) -> Iterator[int]:
        """Sleeps that follow at once on the same stack: the wake-up did not help."""
        timelines, before = self._timelines, wait.sleep
        for after in timelines.following(before, MAX_AGAIN):
            apart_ns = timelines.start_ns(after) - timelines.run_ns(before)
            case = timelines.case(after)
            if apart_ns >= self._floor_ns or case.stack != wait.case.stack:
                return
            before = after
            if case.how == e.TASK:
                yield after

    def _queued_before(self, wait: Wait) -> Iterator[int]:
        """Sleeps of the tasks before it in the queue for room in the log.

        Room is given in the order of asking, and by any task that frees some or
        returns what it had not used: what delayed the queue's first delayed all
        (fs/xfs/xfs_log.c, xlog_grant_head_wait() and xlog_grant_head_wake()).
        """
        timelines, left = self._timelines, MAX_AGAIN
        asked_ns = timelines.start_ns(wait.sleep)
        for earlier, _ in self._log_queue.find(wait.start_ns, wait.end_ns):
            before = timelines.start_ns(earlier) < asked_ns
            woken = timelines.wake_ns(earlier) <= wait.end_ns
            if before and woken and timelines.case(earlier).how == e.TASK:
                yield earlier
                left -= 1
            if not left:
                return
