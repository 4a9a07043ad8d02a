# SPDX-License-Identifier: GPL-2.0-only
"""complaints: join what a program said took long to the calls that made it.

The time of a complaint is divided: to stalled calls of its own thread; the cause of
what is left is unknown. Where its log has stages, each is divided so.

Where the interruptible sleeps of its process were recorded, its critical path explains
the rest: `others` is time in calls of tasks that it waited for, `outside` what is known
to be in no file system.

Else, a lock or queue of a program is no sleep that is traced: no wake-up joins a
complaint to the call of another task, and nothing shows that there is none. The unknown
part that shares time with such calls is `meanwhile`. It may have waited for those that
ended before the complaint did, for one cannot get what another still holds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from writestall.chain.answers import Answer, once
from writestall.chain.critical_paths import CriticalPaths
from writestall.chain.parts import WAIT, Chain, Part
from writestall.common.windows import Cover, Timed, Window, common_ns, window_of
from writestall.events.application_clock import Complaint, Stage
from writestall.events.application_complaints import Complaints
from writestall.events.contract import Block, Io, Write
from writestall.export.tables import fields
from writestall_base import wait_classes as c

OWN, OTHERS, OUTSIDE = "own", "others", "outside"
MEANWHILE, UNKNOWN = "meanwhile", "unknown"
PARTS = (OWN, OTHERS, OUTSIDE, MEANWHILE, UNKNOWN)
LONG_NS = 300_000_000
Row = tuple[int, Write]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dealt:
    """A stage of a complaint, and where its time went.

    parts        by name, in ns; they add up to it
    rows         the stalled calls of a part, longest in it first
    stopped_ns   so much of `meanwhile` was while all threads of the program stood still
    path         its critical path, where its sleeps were recorded
    """

    stage: Stage
    parts: dict[str, int]
    rows: dict[str, tuple[Row, ...]]
    stopped_ns: int = 0
    path: Chain | None = None

    def calls(self, name: str) -> tuple[Row, ...]:
        """The calls of one part."""
        return self.rows.get(name, ())


@dataclass(frozen=True, slots=True)
class Joined:
    """A complaint and its stages: one, where its log has none."""

    complaint: Complaint
    stages: tuple[Dealt, ...]

    @property
    def parts(self) -> dict[str, int]:
        """The parts of all stages by name, in ns; they add up to the complaint."""
        return summed(self.stages)

    @property
    def longest(self) -> str:
        """Where most of it went."""
        parts = self.parts
        return max(parts, key=lambda name: parts[name])

    @property
    def paths(self) -> tuple[Chain, ...]:
        """The critical paths of its stages, where they are known."""
        return tuple(stage.path for stage in self.stages if stage.path)

    @property
    def main(self) -> Row | None:
        """The call that is most of it; None where that is not its own."""
        own = self.calls(OWN) if self.longest == OWN else ()
        return next(iter(own), None)

    def calls(self, name: str) -> tuple[Row, ...]:
        """The calls of one part, those of the stage that it took most of first."""
        stages = sorted(self.stages, key=lambda dealt: -dealt.parts[name])
        found = {row[0]: row for dealt in stages for row in dealt.calls(name)}
        return tuple(found.values())


class Joins:
    """All complaints of an answer that are long enough for the tracer to have seen
    their calls."""

    def __init__(self, answer: Answer, complaints: Complaints) -> None:
        self._answer, self._complaints = answer, complaints
        self.limit_ns = answer.stream.limit_ns

    @cached_property
    def _long(self) -> list[Complaint]:
        return list(filter(self._is_long, self._complaints.rows))

    def _is_long(self, complaint: Complaint) -> bool:
        return complaint.dur_ns >= max(self.limit_ns, 1)

    @cached_property
    def unjoined(self) -> list[Complaint]:
        """Those of no thread, while the tracer ran."""
        long = filter(self._is_long, self._complaints.unjoined)
        return list(filter(self.is_traced, long))

    @property
    def untraced(self) -> int:
        """How many of them began before the tracer, or ended after it."""
        return len(self._long) - len(self.rows)

    @cached_property
    def rows(self) -> list[Joined]:
        """The complaints while the tracer ran, longest first."""
        traced = filter(self.is_traced, self._long)
        return sorted(map(self._join, traced), key=lambda row: -row.complaint.dur_ns)

    def is_traced(self, row: Timed) -> bool:
        """Whether the tracer ran from its start to its end."""
        begin, end = self._answer.stream.begin, self._answer.stream.end
        if begin and row.t_ns < begin.t_ns:
            return False
        return not (end and end.t_ns and row.t_ns + row.dur_ns > end.t_ns)

    @property
    def by_program(self) -> dict[str, list[Joined]]:
        """Those of each program, longest first."""
        return _grouped(self.rows, lambda row: row.complaint.program)

    @cached_property
    def unwaited(self) -> dict[str, tuple[int, int]]:
        """Stalled calls of threads for whom nobody waits: count and sum in ns, by name
        of thread."""
        found: dict[str, tuple[int, int]] = {}
        for _, write in self._answer.every_write:
            if write.comm in self._complaints.unwaited:
                count, ns = found.get(write.comm, (0, 0))
                found[write.comm] = count + 1, ns + write.dur_ns
        return found

    def chain(self, joined: Joined) -> Chain | None:
        """The chain of the call that is most of it."""
        row = joined.main
        return self._answer.chains.of([row])[0] if row else None

    def _join(self, complaint: Complaint) -> Joined:
        stages, t_ns = [], complaint.t_ns
        for stage in complaint.stages or (Stage("", complaint.dur_ns),):
            stages.append(self._deal(complaint, stage, t_ns))
            t_ns += stage.dur_ns
        return Joined(complaint, tuple(stages))

    def _deal(self, complaint: Complaint, stage: Stage, t_ns: int) -> Dealt:
        paths, tid = self._answer.paths, complaint.tid
        is_its = stage.worked or stage.queued
        if paths and tid is not None and is_its and paths.covers(tid):
            window = t_ns, t_ns + stage.dur_ns
            path = paths.path(tid, window, alone=complaint.alone)
            return _along(paths, stage, path)
        return self._overlapping(complaint, stage, t_ns)

    def _overlapping(self, complaint: Complaint, stage: Stage, t_ns: int) -> Dealt:
        slack_ns, dur_ns = complaint.slack_ns, stage.dur_ns
        window = t_ns - slack_ns, t_ns + dur_ns + slack_ns
        near = [
            row
            for row in self._within(window)
            if _end_ns(row[1]) <= window[1] and not _is_fringe(row, window, slack_ns)
        ]
        own = [row for row in near if stage.worked and _is_own(complaint, row[1])]
        own_ns = min(dur_ns, _covered_ns(own, window))
        may_wait = self._may_wait_for(complaint)
        others = [row for row in near if row not in own and may_wait(row[1])]
        all_ns = _covered_ns((*own, *others), window)
        meanwhile_ns = max(min(dur_ns, all_ns) - own_ns, 0)
        stopped_ns = 0 if complaint.stops else self._stops.common_ns(window)
        rest_ns = dur_ns - own_ns - meanwhile_ns
        parts = {OWN: own_ns, MEANWHILE: meanwhile_ns, UNKNOWN: rest_ns}
        rows = {
            OWN: _longest_first(own, window),
            MEANWHILE: _longest_first(others, window),
        }
        return Dealt(
            stage, _full(parts), rows, stopped_ns=min(meanwhile_ns, stopped_ns)
        )

    @cached_property
    def _stops(self) -> Cover:
        """When a program's threads all stood still."""
        return Cover(window_of(row) for row in self._long if row.stops)

    @cached_property
    def _starts(self) -> list[int]:
        return [write.t_ns for _, write in self._answer.every_write]

    @cached_property
    def _longest_ns(self) -> int:
        return max((w.dur_ns for _, w in self._answer.every_write), default=0)

    def _within(self, window: Window) -> list[Row]:
        """Stalled calls that share time with a window."""
        first = bisect_left(self._starts, window[0] - self._longest_ns)
        last = bisect_left(self._starts, window[1])
        return [
            row
            for row in self._answer.every_write[first:last]
            if _end_ns(row[1]) > window[0]
        ]

    @cached_property
    def _pids(self) -> dict[int, int]:
        """The processes of the threads that complained, as far as an event names it."""
        tids = {row.tid for row in self._complaints.rows}
        stream = self._answer.stream
        seen: list[Block | Write | Io] = [
            *stream.blocks.shapes,
            *(write for _, write in self._answer.every_write),
            *(io for _, io in stream.ios),
        ]
        return {e.tid: e.pid for e in seen if e.tid in tids and e.pid is not None}

    def _may_wait_for(self, complaint: Complaint) -> Callable[[Write], bool]:
        """Tell the calls of the program, and of threads that others wait for.

        Those of all tasks, where its process is not known: its thread is in no event.
        """
        comms, unwaited = self._complaints.comms, self._complaints.unwaited
        known = complaint.tid in self._pids or comms
        pids = set(self._pids.values())

        def may_wait(write: Write) -> bool:
            is_its = not known or write.comm in comms or write.pid in pids
            return is_its and write.comm not in unwaited

        return may_wait


def _full(parts: Mapping[str, int]) -> dict[str, int]:
    """Parts by name in ns, each of PARTS among them."""
    return {name: parts.get(name, 0) for name in PARTS}


def summed(rows: Iterable[Joined | Dealt]) -> dict[str, int]:
    """The parts of all by name, in ns."""
    total = Counter[str]()
    for row in rows:
        total.update(row.parts)
    return _full(total)


def sum_ns(rows: Iterable[Joined]) -> int:
    """How long all were together."""
    return sum(row.complaint.dur_ns for row in rows)


def _grouped(rows: Iterable[T], name: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    return groups


def _along(paths: CriticalPaths, stage: Stage, path: Chain) -> Dealt:
    """Deal out a stage along its critical path.

    The thread that takes a request from a queue was busy with others until then.
    """
    ns = Counter[str]()
    sides: dict[str, list[Part]] = {OWN: [], OTHERS: []}
    for part in path.parts:
        _add(part, OWN if stage.worked else OTHERS, ns, sides)
    rows = {name: tuple(paths.calls(parts)) for name, parts in sides.items()}
    return Dealt(stage, _full(ns), rows, path=path)


def _add(part: Part, side: str, ns: Counter[str], sides: dict[str, list[Part]]) -> None:
    """Add a part of a critical path: `side` is whose calls those in it are.

    A call, or a sleep in none that is listed, ends the way through user space.
    """
    if part.kind == c.CALL or (part.kind == WAIT and part.cls in c.WAIT_CLASSES):
        sides[side].append(part)
        ns[side] += part.explained_ns
        ns[UNKNOWN] += part.dur_ns - part.explained_ns
    elif part.parts:
        for inner in part.parts:
            _add(inner, OTHERS, ns, sides)
    else:
        ns[OUTSIDE if part.explained else UNKNOWN] += part.dur_ns


def _is_fringe(row: Row, window: Window, slack_ns: int) -> bool:
    """Whether a call shares no more with a window than the log's clock may be off."""
    shared_ns = common_ns(window_of(row[1]), window)
    return shared_ns < row[1].dur_ns and shared_ns <= 2 * slack_ns


def _is_own(complaint: Complaint, write: Write) -> bool:
    if complaint.tid is not None:
        return complaint.tid == write.tid
    return complaint.comm == write.comm


def _end_ns(write: Write) -> int:
    return write.t_ns + write.dur_ns


def _covered_ns(rows: Iterable[Row], window: Window) -> int:
    """How much of a window the calls cover together."""
    return Cover(window_of(write) for _, write in rows).common_ns(window)


def _longest_first(rows: list[Row], window: Window) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: -common_ns(window_of(row[1]), window)))


@once
def joins(answer: Answer) -> Joins | None:
    """The joined complaints; None where no program said anything."""
    app = answer.application
    if app is None or not app.complaints.logs:
        return None
    return Joins(answer, app.complaints)


def summary(answer: Answer) -> dict[str, Any]:
    """`complaints` of summary.json (docs/run-directory.md), or nothing."""
    found = joins(answer)
    if found is None:
        return {}
    rows = found.rows
    long = [row for row in rows if row.complaint.dur_ns >= LONG_NS]
    named = (dealt for row in rows for dealt in row.stages if dealt.stage.name)
    by_stage = _grouped(named, lambda dealt: dealt.stage.name)
    return {
        "complaints": {
            "count": len(rows),
            "untraced": found.untraced,
            "unjoined": len(found.unjoined),
            "limit_ns": found.limit_ns,
            "sum_ns": sum_ns(rows),
            **_parts(rows),
            "long": {
                "limit_ns": LONG_NS,
                "count": len(long),
                "sum_ns": sum_ns(long),
                **_parts(long),
            },
            "by_longest": dict(Counter(row.longest for row in rows).most_common()),
            "by_program": {
                name: {
                    "count": len(own),
                    "longest_ns": own[0].complaint.dur_ns,
                    **_parts(own),
                }
                for name, own in found.by_program.items()
            },
            "by_stage": {name: _parts(dealt) for name, dealt in by_stage.items()},
            "unwaited": {
                comm: {"calls": calls, "stall_ns": ns}
                for comm, (calls, ns) in found.unwaited.items()
            },
            "worst": [_json(found, row) for row in rows[:5]],
        }
    }


def _parts(rows: Iterable[Joined | Dealt]) -> dict[str, int]:
    return {f"{name}_ns": ns for name, ns in summed(rows).items()}


def _json(found: Joins, row: Joined) -> dict[str, Any]:
    complaint, chain = row.complaint, found.chain(row)
    return {
        **fields(complaint, "program what t_ns dur_ns tid"),
        **_parts([row]),
        "event": chain.id if chain else None,
    }
