# SPDX-License-Identifier: GPL-2.0-only
"""explaining: explain stalls by a sliding window of a tracer's events.

The explainer is that of a whole run (chain/explainer.py); it gets the window as its
stream. A stall waits for a moment before it is explained, since a holder's own sleep is
reported when it ends, which may be after the stall; then once more if much is
unexplained.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from writestall.chain.answers import Answer
from writestall.chain.parts import Chain
from writestall.events.contract import Begin, Cgroup, End, Event, Lost, Write
from writestall.events.decode import UNREADABLE, row_decoder
from writestall.events.lines import Problem, why
from writestall.events.run_directory import RunDir
from writestall.events.stream import is_to_come, stream_of
from writestall.watch.ring import Bounds, Ring, S

# After the line of a stall: when it is explained first, and when at last.
FIRST_NS, LAST_NS = S, 7 * S // 2
# Those of so much time are explained together: each time the window is read anew.
TOGETHER_NS = S
GOOD_ENOUGH = 0.9
MOST_PENDING, MOST_AT_ONCE = 10_000, 500
MOST_CGROUPS = 16_384
MOST_LINE_BYTES = 1 << 18
# How many lines that could not be read are named.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Explained:
    """A stall and its chain; `gap_ns` is how much of its time lies before the events
    that were still held."""

    chain: Chain
    answer: Answer
    gap_ns: int = 0


@dataclass(slots=True)
class Counts:
    """What became of the lines and stalls; all grow."""

    events: int = 0
    unreadable: int = 0
    stalls: int = 0
    reported: int = 0
    unreported: int = 0
    lost: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Pending:
    write: Write
    since_ns: int
    asked: bool = False


class Explaining:
    """The stalls of one stream, as it comes. `now_ns` is CLOCK_MONOTONIC everywhere.

    file      what the stream is called where a line of it could not be read
    problems  the first of these lines
    heard     reported of each call that has ended, as soon as its line is taken
    """

    def __init__(self, run: RunDir, bounds: Bounds) -> None:
        self.run = run
        self.heard: Callable[[Write], None] | None = None
        self.file = "stream"
        self.problems: list[Problem] = []
        self.ring = Ring(bounds)
        self.counts = Counts()
        self.begin: Begin | None = None
        self.end: End | None = None
        self._begin_line = b""
        self._cgroups: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._pending: deque[_Pending] = deque()
        self._explained_ns = 0
        self._lines = 0
        self._row = row_decoder()

    def take(self, line: bytes, now_ns: int) -> int:
        """Take a line of the tracer; return when what it tells has ended, in ns."""
        self._lines += 1
        if line.isspace():
            return 0
        try:
            if len(line) > MOST_LINE_BYTES:
                raise msgspec.ValidationError("line longer than 256 KiB")
            row = self._row(line)
        except UNREADABLE as error:
            if not is_to_come(line):
                self._count_unreadable(why(error))
            return 0
        self.counts.events += 1
        self._note(row, line, now_ns)
        end_ns = _end_ns(row)
        if not isinstance(row, Begin | Cgroup | End):
            self.ring.add(line, end_ns)
        return end_ns

    def due(self, now_ns: int, every: bool = False) -> Iterator[Explained]:
        """Explain the stalls whose time has come, at most so many at once.

        `every`: all of them, now, since no more lines will come.
        """
        if not every and now_ns - self._explained_ns < TOGETHER_NS:
            return
        ready = list(islice(self._ready(now_ns, every), MOST_AT_ONCE))
        if not ready:
            return
        self._explained_ns = now_ns
        since_ns = min(one.write.t_ns for one in ready)
        stream = stream_of("window", self.window(since_ns))
        places = {(row.tid, row.t_ns): at for at, (_, row) in enumerate(stream.writes)}
        answer = Answer(self.run, self.engine, stream, [])
        rows = []
        for number, one in enumerate(ready, 1):
            at = places.get((one.write.tid, one.write.t_ns))
            # One whose own line is gone gets a number that no line has.
            rows.append((-number, one.write) if at is None else stream.writes[at])
        for one, chain in zip(ready, answer.chains.of(rows), strict=True):
            good = chain.explained_ns >= GOOD_ENOUGH * one.write.dur_ns
            late = every or now_ns - one.since_ns >= LAST_NS
            if not good and not late and not one.asked:
                one.asked = True
                self._pending.append(one)
                continue
            self.counts.reported += 1
            gap_ns = min(self.ring.gone_ns - one.write.t_ns, one.write.dur_ns)
            yield Explained(chain, answer, max(gap_ns, 0))

    def trim(self, now_ns: int, keep_ns: int) -> None:
        """Let old events go; those since `keep_ns` are wanted still."""
        wanted = [one.write.t_ns for one in self._pending]
        self.ring.trim(now_ns, min(keep_ns, *wanted) if wanted else keep_ns)

    def window(self, since_ns: int) -> Iterator[bytes]:
        """The lines since a time, behind those that all others need."""
        yield from self.first_lines()
        yield from self.ring.since(since_ns)

    def first_lines(self) -> list[bytes]:
        """The lines that all others need: the begin of the stream, and its cgroups."""
        return [self._begin_line, *self._cgroups.values()] if self._begin_line else []

    @property
    def pending(self) -> int:
        """Stalls that have ended and are not reported yet."""
        return len(self._pending)

    @property
    def engine(self) -> str:
        """The tracer's engine, by its own account."""
        return self.begin.engine if self.begin else "?"

    def _ready(self, now_ns: int, every: bool) -> Iterator[_Pending]:
        """Take those whose time has come; they stand in no certain order."""
        for _ in range(len(self._pending)):
            one = self._pending.popleft()
            wait_ns = LAST_NS if one.asked else FIRST_NS
            if every or now_ns - one.since_ns >= wait_ns:
                yield one
            else:
                self._pending.append(one)

    def _count_unreadable(self, text: str) -> None:
        self.counts.unreadable += 1
        if len(self.problems) < MOST_NAMED:
            self.problems.append(Problem(self.file, self._lines, text))

    def _note(self, event: Event, line: bytes, now_ns: int) -> None:
        """Keep what is more than one of many."""
        match event:
            case Begin():
                self.begin, self._begin_line = event, line
            case Cgroup():
                self._cgroups[event.version, event.id] = line
                if len(self._cgroups) > MOST_CGROUPS:
                    self._cgroups.popitem(last=False)
            case Write():
                self.counts.stalls += 1
                if self.heard:
                    self.heard(event)
                if len(self._pending) < MOST_PENDING:
                    self._pending.append(_Pending(event, now_ns))
                else:
                    self.counts.unreported += 1
            case Lost():
                what = event.what or "events"
                lost = self.counts.lost
                lost[what] = lost.get(what, 0) + event.count
            case End():
                self.end = event


def _end_ns(row: Event) -> int:
    """When what a line tells has ended."""
    times = (getattr(row, name, None) or 0 for name in ("t_ns", "dur_ns", "runq_ns"))
    return sum(times)
