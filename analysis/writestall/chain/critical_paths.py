# SPDX-License-Identifier: GPL-2.0-only
"""critical_paths: follow a request through the threads that it waited for.

A request waits for other threads of user space in interruptible sleeps, which tracers
record for chosen processes. Each is followed to the task that ended it, and to what
that task did meanwhile, down to calls that stalled (docs/how-causes-are-inferred.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from writestall.chain.explainer import MAX_PARTS, Explainer, Work
from writestall.chain.parts import INFERRED, SEEN, Chain, Part, Task
from writestall.chain.waits import Wait, running
from writestall.classify import endings as e
from writestall.classify.interruptible import is_gil, is_of_a_loop
from writestall.common.windows import Window
from writestall.events.contract import Write
from writestall.events.other_sleeps import Calls
from writestall.events.stream import Stream
from writestall_base import wait_classes as c

# A wait for a lock is tried again after less work than that part of its length.
AGAIN_AFTER = 1 / 2
# So many sleeps behind one are looked at: between two tries a thread of CPython waits
# for the interpreter's lock, for at most 5 ms at a time.
MOST_BETWEEN = 100
# A condition has several futexes, side by side (glibc, pthread_cond_t).
FUTEXES_BYTES = 64
# A task that wakes all waiters of a condition does so within that time.
BROADCAST_NS = 5_000_000
# Of a chain that is no call's: its thread has its own name.
NO_TID = -1

_ENDED_IT = "it ended the wait"
_LAST_TRY = "it ended the last of several waits for it"
_RAN_OUT = "its time ran out: what it waited for is not known"
_WHO_HAD_IT = "its time ran out: which thread had it is not known"
_WAITED_AGAIN = "it waited for the same again: who made it wait is not known"
_OTHER_WORK = "one of several waits of an event loop: for what work is not known"
_NOBODY = "who ended the wait is not known"
_POLLS = "sleeps for a time again and again: what it polls for is not known"
_ON_A_CPU = "in no sleep: on a CPU, or preempted"


class CriticalPaths(Explainer):
    """Builds critical paths of requests, of a stream with interruptible sleeps."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream, stream.blocks + stream.waits)
        self._calls, self._writes = Calls(stream.writes), dict(stream.writes)
        shapes = (*stream.blocks.shapes, *stream.waits.shapes)
        self._tasks = {shape.tid: (shape.pid, shape.comm or "?") for shape in shapes}
        self._traced = {shape.pid for shape in stream.waits.shapes}
        # The windows of the tasks that are being followed.
        self._windows: list[Window] = []
        # A thread that serves one request at a time.
        self._alone = NO_TID
        self._wakes = self._timelines.wakes(c.USER_LOCK)

    def covers(self, tid: int | None) -> bool:
        """Whether all sleeps of a thread were recorded."""
        return tid in self._tasks and self._tasks[tid][0] in self._traced

    def path(self, tid: int, window: Window, *, alone: bool = False) -> Chain:
        """What a thread did in a window, as the chain of no call; its parts tile it.

        `alone`: it served nobody else meanwhile.
        """
        task, self._alone = Task(tid, self._tasks[tid][1]), tid if alone else NO_TID
        start_ns, end_ns = window
        self._budget = MAX_PARTS
        parts = tuple(self._tiled(task, start_ns, end_ns))
        calls = self.calls(parts)
        dev = next((call.dev for _, call in calls if call.dev), None)
        call = Write(start_ns, end_ns - start_ns, NO_TID, dev=dev)
        return Chain(0, call, task, parts)

    def calls(self, parts: Iterable[Part]) -> list[tuple[int, Write]]:
        """The calls among parts and below, the one that took most of them first."""
        ns = Counter[int]()
        _count_calls(parts, ns)
        return [(id, self._writes[id]) for id, _ in ns.most_common()]

    def _tiled(
        self, task: Task, start_ns: int, end_ns: int, work: Work | None = None
    ) -> list[Part]:
        self._windows.append((start_ns, end_ns))
        parts = super()._tiled(task, start_ns, end_ns, work)
        self._windows.pop()
        return list(self._in_calls(task, parts))

    def _in_calls(self, task: Task, parts: list[Part]) -> Iterator[Part]:
        """The parts, those of one call as one."""

        def call_of(part: Part) -> tuple[int, Write] | None:
            return self._calls.at(task.tid, part.start_ns or 0)

        for row, group in groupby(parts, key=call_of):
            if row is None:
                yield from group
            else:
                yield _call(task, row, tuple(group))

    def _gap(self, holder: Task, start_ns: int, end_ns: int) -> Part:
        if self._lossy or not self.covers(holder.tid):
            return super()._gap(holder, start_ns, end_ns)
        return running(holder, end_ns - start_ns, start_ns, _ON_A_CPU, True)

    def _woken(self, wait: Wait) -> Part:
        """What the task that ended a wait did meanwhile.

        A wait for a condition is tried anew after each wake-up: whoever ended the last
        try made the condition true (pthread_cond_wait(3), "spurious wakeups"). A loop
        of events is woken for other work, too, all but the last time.
        """
        last, is_doubtful = self._tries(wait.sleep)
        case = self._timelines.case(last)
        if self._is_of_other_work(last):
            return wait.unknown(_OTHER_WORK)
        may_repeat = is_gil(case.path)  # each such wait is one
        if is_doubtful and not may_repeat:
            return wait.unknown(_WAITED_AGAIN)
        if case.how != e.TASK or case.waker is None:
            ran_out = _WHO_HAD_IT if may_repeat else _RAN_OUT
            return wait.unknown(ran_out if case.how == e.TIMER else _NOBODY)
        parts = self._activity(case.waker, wait)
        is_repeated = not may_repeat and self._next_for_it(last)[0] is not None
        if is_repeated and not (_mostly_calls(parts) and self._may_have_helped(last)):
            return wait.unknown(_WAITED_AGAIN)
        if last == wait.sleep:
            link = INFERRED if is_of_a_loop(case.path) else SEEN
            return wait.over(parts, case.waker, link, _ENDED_IT)
        also = (self._timelines.id(last),)
        return wait.over(parts, case.waker, INFERRED, _LAST_TRY, also)

    def _tries(self, sleep: int) -> tuple[int, bool]:
        """The last of a task's sleeps for one lock, one after another; and whether it
        did more before it tried again.

        It did not get the lock where its time had run out, or where a task had woken
        all who waited; a task that woke it alone may have given it what it waited for.
        A loop of events had none where its time had run out.
        """
        timelines = self._timelines
        while True:
            how = timelines.case(sleep).how
            if not (how == e.TIMER or self._is_broadcast(sleep)):
                return sleep, False
            after, work_ns = self._next_for_it(sleep)
            if after is None or self._is_other_work(sleep, work_ns):
                return sleep, after is not None
            sleep = after

    def _is_other_work(self, sleep: int, work_ns: int) -> bool:
        """Whether that is more than a task does before it tries a wait again."""
        dur_ns = self._timelines.wake_ns(sleep) - self._timelines.start_ns(sleep)
        return work_ns >= max(self._floor_ns, AGAIN_AFTER * dur_ns)

    def _may_have_helped(self, sleep: int) -> bool:
        """Whether a task that was in calls may have made a wait last that was repeated.

        A lock can be taken again before the task that was woken gets it. Where another
        one that was in no call ends the last try, no event distinguishes that from a
        condition that was not yet true, which a task that only shares it had notified.
        """
        timelines, last = self._timelines, sleep
        for _ in range(MOST_BETWEEN):
            after, work_ns = self._next_for_it(last)
            if after is None or self._is_other_work(last, work_ns):
                break
            last = after
        case, first = timelines.case(last), timelines.case(sleep)
        if case.waker is None or first.waker is None:
            return False
        if case.waker.tid == first.waker.tid:
            return True
        window = timelines.start_ns(last), timelines.wake_ns(last)
        return _mostly_calls(
            self._activity(case.waker, timelines.wait(last, case.task, *window))
        )

    def _next_for_it(self, sleep: int) -> tuple[int | None, int]:
        """A task's next sleep for that lock in its window, and its work until then."""
        timelines, lock = self._timelines, self._timelines.lock(sleep)
        if lock:
            return self._next(
                sleep, lambda at: abs(timelines.lock(at) - lock) < FUTEXES_BYTES
            )
        if self._is_loop(sleep) and timelines.case(sleep).how == e.TIMER:
            return self._next(sleep, self._is_loop)
        return None, 0

    def _is_loop(self, sleep: int) -> bool:
        return is_of_a_loop(self._timelines.case(sleep).path)

    def _next(
        self, sleep: int, is_wanted: Callable[[int], bool]
    ) -> tuple[int | None, int]:
        """A task's next such sleep in its window, and its work until then."""
        timelines = self._timelines
        work_ns, ended_ns = 0, timelines.run_ns(sleep)
        for after in timelines.following(sleep, MOST_BETWEEN):
            if not self._within(after):
                break
            work_ns += timelines.start_ns(after) - ended_ns
            if is_wanted(after):
                return after, work_ns
            ended_ns = timelines.run_ns(after)
        return None, work_ns

    def _is_of_other_work(self, sleep: int) -> bool:
        """Whether a sleep of a loop of events may have been ended for other work.

        The last one before its window ends was not, where the end followed at once: a
        loop that works for long may have had other events without a sleep.
        """
        timelines, (_, until_ns) = self._timelines, self._windows[-1]
        is_alone = timelines.case(sleep).task.tid == self._alone
        if is_alone or not self._is_loop(sleep):
            return False
        if self._next(sleep, self._is_loop)[0] is not None:
            return True
        return self._is_other_work(sleep, until_ns - timelines.run_ns(sleep))

    def _is_broadcast(self, sleep: int) -> bool:
        """Whether the waker of a sleep woke others at that time; the lock of Python is
        given to one at a time."""
        case = self._timelines.case(sleep)
        if is_gil(case.path):
            return False
        waker = case.waker
        wakes = self._wakes.get(waker.tid if waker else NO_TID, [])
        at_ns = self._timelines.wake_ns(sleep)
        first = bisect_left(wakes, at_ns - BROADCAST_NS)
        return bisect_right(wakes, at_ns + BROADCAST_NS) - first > 1

    def _paused(self, wait: Wait) -> Part:
        """A sleep for a time; a task that repeats it polls for something."""
        timelines, stack = self._timelines, wait.case.stack
        near = (*timelines.following(wait.sleep, 1), *timelines.before(wait.sleep))
        for other in near:
            case = timelines.case(other)
            again = case.stack == stack and case.how == e.TIMER
            if again and self._within(other) and self._is_near(wait.sleep, other):
                return wait.unknown(_POLLS)
        return super()._paused(wait)

    def _within(self, sleep: int) -> bool:
        """Whether a sleep begins in the window that is being followed."""
        start_ns, end_ns = self._windows[-1]
        return start_ns <= self._timelines.start_ns(sleep) < end_ns

    def _is_near(self, sleep: int, other: int) -> bool:
        """Whether two sleeps of a task are less apart than the shorter one is long."""
        timelines = self._timelines
        first, second = sorted((sleep, other))
        apart_ns = timelines.start_ns(second) - timelines.run_ns(first)
        lengths_ns = (
            timelines.wake_ns(s) - timelines.start_ns(s) for s in (sleep, other)
        )
        return apart_ns < min(lengths_ns)


def _call(task: Task, row: tuple[int, Write], parts: tuple[Part, ...]) -> Part:
    """The parts of a call as one."""
    id, write = row
    return Part(
        c.CALL, c.CALL, sum(part.dur_ns for part in parts), task, parts[0].start_ns,
        SEEN, f"{write.name} {write.path or '?'}", evidence=(id,), parts=parts,
        explained_ns=sum(part.explained_ns for part in parts),
    )  # fmt: skip


def _mostly_calls(parts: Sequence[Part]) -> bool:
    """Whether a task was in calls for at least half of the time."""
    ns, whole_ns = Counter[int](), sum(part.dur_ns for part in parts)
    _count_calls(parts, ns)
    return 2 * ns.total() >= whole_ns


def _count_calls(parts: Iterable[Part], ns: Counter[int]) -> None:
    for part in parts:
        if part.kind == c.CALL:
            ns[part.evidence[0]] += part.dur_ns
        _count_calls(part.parts, ns)
