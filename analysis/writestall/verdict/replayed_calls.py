# SPDX-License-Identifier: GPL-2.0-only
"""replayed_calls: compare the calls of a recording with those of its replay.

What repro/replay measured of each kind of call is in REPORT; what the host's calls
waited for is in STALLS, which `lab --from` keeps with the run. A replay may be as far
from its recording as a second recording of the same load is; without one, by SHARE.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from os import SEEK_CUR
from pathlib import Path
from typing import Any

import msgspec

from writestall.chain.answers import Answer
from writestall.chain.roots import THE_WRITER, Root
from writestall.classify.owners import ALL_OWNERS
from writestall.events.kept_calls import FAILED, FILE, HEAD, ROW, Call, calls
from writestall.verdict.episodes import DAMAGED
from writestall_base import files
from writestall_base.errors import UserError

REPORT = "application/application/replay.json"
STALLS = "recorded-stalls.json"
CALLS = "recorded-calls.bin"
# The program, as its threads are named, and the calls that others carry out for it.
COMM = "replay"
REQUESTS = ("io_uring_", "aio_")
MOST_BYTES = 64 << 20
MOST_STALLS = 100_000
MOST_OPERATIONS = 64  # repro/replay knows fewer
MS = 1_000_000
# How far a replay may be from what was recorded, and at least in either case.
SHARE = 0.25
RATE_SHARE = 0.05
LEAST_STALLS, LEAST_NS, LEAST_STALLED_NS = 2, 20 * MS, 200 * MS
# p99.9 of fewer calls is their longest.
FEWEST = 20
MISSED_SHARE = 0.01

# What is behind a stall, of disks and tasks that have other names in the replay.
DISK, OTHER_TASK = "the disk", "another task"
NAMED_ALIKE = (THE_WRITER, *ALL_OWNERS)

# Duration of a call that stalled, and its ns by class of waiting and by root.
Stall = tuple[int, dict[str, int], dict[str, int]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the recording beside that of its replay, perhaps that of a second
    recording, and how far the first two may be from each other."""

    name: str
    recorded: float
    replayed: float
    again: float | None
    within: float
    unit: str

    @property
    def decides(self) -> bool:
        """Whether it could fail: both are not smaller than what they may be off."""
        return max(self.recorded, self.replayed) > self.within

    @property
    def holds(self) -> bool:
        """Whether the replay is near enough."""
        return abs(self.recorded - self.replayed) <= self.within

    def __str__(self) -> str:
        mark = "" if self.holds else "  FAILED"
        again = "" if self.again is None else f"{self.again:12.1f}"
        return (
            f"  {self.name:32}{self.recorded:12.1f}{self.replayed:12.1f}{again}"
            f"  within {self.within:.1f} {self.unit}{mark}"
        )


def stalls(answer: Answer, of_replay: bool = False) -> list[Stall]:
    """The calls that stalled while the workload ran; of a replay's, its own alone."""
    found, end_ns = [], answer.run.get("window", "end_ns")
    for chain in answer.chains:
        requested = (chain.write.call or "").startswith(REQUESTS)
        if of_replay and chain.task.comm != COMM and not requested:
            continue
        if isinstance(end_ns, int) and chain.write.t_ns > end_ns:
            continue
        by_class, by_root = Counter[str](), Counter[str]()
        for part in chain.parts:
            by_class[part.cls] += part.dur_ns
        for root, ns in answer.roots([chain]).items():
            by_root[_without_names(root)] += ns
        found.append((chain.write.dur_ns, dict(by_class), dict(by_root)))
    return found[:MOST_STALLS]


def _without_names(root: Root) -> str:
    """A root in words that a recording and its replay have in common."""
    who = root.who if not root.who or root.who in NAMED_ALIKE else OTHER_TASK
    cap = None if root.cap is None else ""
    return str(Root(root.cls, who, root.device and DISK, cap))


def is_replay(answer: Answer) -> bool:
    """Whether the run made a recording's calls again."""
    return (answer.run.path / REPORT).is_file()


def figures(answer: Answer, second: Answer | None = None) -> list[Figure]:
    """All that decides, with a second recording where there is one. Raises UserError
    where a file is damaged."""
    report = answer.run.path / REPORT
    try:
        found: Any = msgspec.json.decode(files.content(report, MOST_BYTES))
        again = _measured(second, int(found["stall_ns"])) if second else None
        made = list(_of_calls(found, again))
    except (OSError, msgspec.MsgspecError, *DAMAGED):
        raise UserError(f"{report}: not what repro/replay reports") from None
    made += _of_stalls(answer, second)
    return [figure for figure in made if figure.decides]


def under_way_ns(answer: Answer) -> int:
    """When all calls had ended that were under way as the recording began, since then:
    what they had done before is not known. 0 of a run without calls. Raises UserError.
    """
    path = answer.run.path / CALLS
    if not path.is_file():
        return 0
    try:
        with files.opened(path) as file:
            _, count, *_ = HEAD.unpack(file.read(HEAD.size))
            file.seek(count * FILE.size, SEEK_CUR)
            rows = map(ROW.unpack, iter(lambda: file.read(ROW.size), b""))
            under_way = takewhile(lambda call: not call.t_ns, map(Call._make, rows))
            return max((call.dur_ns for call in under_way), default=0)
    except (OSError, struct.error):
        raise UserError(f"{path}: no calls of a recording") from None


def lines(found: Iterable[Figure]) -> list[str]:
    """A table of the figures, those that fail marked."""
    rows = list(found)
    failed = sum(not row.holds for row in rows)
    head = f"{len(rows) - failed} of {len(rows)} figures of the calls came back"
    title = f"  {'':32}{'recorded':>12}{'replayed':>12}"
    if any(row.again is not None for row in rows):
        title += f"{'again':>12}"
    return [f"{'FAILED' if failed else 'as expected'}: {head}", title, *map(str, rows)]


def _figure(
    name: str, unit: str, sides: Sequence[float], least: float, share: float
) -> Figure:
    """A figure that may be off by the least, and by as much as a second recording is or
    else by so much as `share`. Sides: recorded, replayed, perhaps recorded again."""
    recorded, replayed, *more = sides
    again = more[0] if more else None
    off = share if again is None else abs(again - recorded)
    return Figure(name, recorded, replayed, again, max(least, off), unit)


def _near(name: str, unit: str, sides: Sequence[float], least: float) -> Figure:
    """A figure that may be off by SHARE where no second recording says how far."""
    return _figure(name, unit, sides, least, SHARE * sides[0])


def kept(answer: Answer) -> Iterator[Call]:
    """All calls, in no order: of a run without --profile none. Raises UserError."""
    for event in answer.stream.calls:
        try:
            yield from calls(event.rows, event.count)
        except ValueError as error:
            name = f"{answer.run.path}: calls at {event.t_ns} ns"
            raise UserError(f"{name}: damaged: {error}") from None


def _measured(second: Answer, stall_ns: int) -> dict[str, dict[str, int]]:
    """What repro/replay would report as recorded of a second one, by operation."""
    window, made = second.run.get("window"), dict[str, list[Call]]()
    try:
        for call in kept(second):
            within = window["start_ns"] <= call.t_ns <= window["end_ns"]
            if within and not call.flags & FAILED:
                made.setdefault(call.operation, []).append(call)
    except DAMAGED:
        raise UserError(f"{second.run.path}: damaged: its window") from None
    if not made:
        raise UserError(
            f"{second.run.path}: it has no calls: name a recording that has"
        )
    return {name: _side(rows, stall_ns) for name, rows in made.items()}


def _side(rows: Sequence[Call], stall_ns: int) -> dict[str, int]:
    """Of the calls of one kind."""
    took = sorted(call.dur_ns for call in rows)
    long = [ns for ns in took if ns >= stall_ns]
    p999_ns = took[-(-len(took) * 999 // 1000) - 1] if took else 0
    side = {"stalls": len(long), "stalled_ns": sum(long), "p999_ns": p999_ns}
    return side | {"max_ns": took[-1] if took else 0}


def _of_calls(
    report: dict[str, Any], again: dict[str, dict[str, int]] | None
) -> Iterator[Figure]:
    """By what the replayer measured."""
    total, made = int(report["calls"]), int(report["made"])
    if len(report["operations"]) > MOST_OPERATIONS:
        raise ValueError(len(report["operations"]))
    failed = sum(int(row["failed"]) for row in report["operations"])
    yield _figure("calls", "calls", (total, made - failed), 0, MISSED_SHARE * total)
    rates = [
        count / max(int(report[name]) / 1e9, 1e-9)
        for count, name in ((total, "recorded_ns"), (made, "replayed_ns"))
    ]
    yield _figure("calls a second", "a second", rates, 0, RATE_SHARE * rates[0])
    for row in report["operations"]:
        name, sides = str(row["operation"]), [row["recorded"], row["replayed"]]
        if again is not None:
            sides.append(again.get(name) or _side((), 0))
        counts = [int(side["stalls"]) for side in sides]
        if any(counts):
            yield _near(f"{name}: stalls", "calls", counts, LEAST_STALLS)
            took = [int(side["stalled_ns"]) / MS for side in sides]
            # as many of the longest as may be missing
            least, share = (
                count * sides[0]["max_ns"] / MS
                for count in (LEAST_STALLS, SHARE * counts[0])
            )
            yield _figure(f"{name}: stalled ms", "ms", took, least, share)
        if int(row["calls"]) >= FEWEST:
            late = [int(side["p999_ns"]) / MS for side in sides]
            yield _near(f"{name}: p99.9 ms", "ms", late, LEAST_NS / MS)


def _of_stalls(answer: Answer, second: Answer | None) -> Iterator[Figure]:
    """By what the tracers saw, from the longest of the limits on."""
    path = answer.run.path / STALLS
    if not path.is_file():
        return
    limit_ns, recorded = _read(path)
    every = [recorded, stalls(answer, of_replay=True)] + (
        [stalls(second)] if second else []
    )
    begun = [one.stream.begin for one in (answer, second) if one]
    limit_ns = max(limit_ns, *(begin.stall_ns or 0 for begin in begun if begin))
    sides = [[row for row in side if row[0] >= limit_ns] for side in every]
    by_class = [[of for _, of, _ in side if of] for side in sides]
    counts = [Counter(max(of, key=of.__getitem__) for of in side) for side in by_class]
    for cls in sorted(set().union(*counts), key=lambda one: -counts[0][one]):
        of_class = [count[cls] for count in counts]
        yield _near(f"{cls}: calls", "calls", of_class, LEAST_STALLS)
    yield from _sums(by_class)
    yield from _sums([[of for _, _, of in side] for side in sides])


def _sums(sides: Sequence[Sequence[dict[str, int]]]) -> Iterator[Figure]:
    """The time behind each name, the longest first; a quarter of all may move."""
    sums = [sum(map(Counter, side), Counter[str]()) for side in sides]
    share_ms = SHARE * sum(sums[0].values()) / MS
    for name in sorted(set().union(*sums), key=lambda one: -sums[0][one]):
        took = [of_side[name] / MS for of_side in sums]
        yield _figure(f"{name}: ms", "ms", took, LEAST_STALLED_NS / MS, share_ms)


def _read(path: Path) -> tuple[int, list[Stall]]:
    try:
        found: Any = msgspec.json.decode(files.content(path, MOST_BYTES))
        rows = [(int(ns), _counts(of), _counts(why)) for ns, of, why in found["stalls"]]
        return int(found["limit_ns"] or 0), rows
    except (OSError, msgspec.MsgspecError, *DAMAGED):
        raise UserError(f"{path}: no stalls of a recording") from None


def _counts(table: dict[Any, Any]) -> dict[str, int]:
    return {str(name): int(ns) for name, ns in table.items()}
