# SPDX-License-Identifier: GPL-2.0-only
"""replayed_calls: compare the calls of a recording with those of its replay.

What repro/replay measured of each kind of call is in REPORT; what the host's calls
waited for is in STALLS, which `lab --from` keeps with the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from writestall.chain.answers import Answer
from writestall_base import files
from writestall_base.errors import UserError

REPORT = "application/application/replay.json"
STALLS = "recorded-stalls.json"
# The program, as its threads are named.
COMM = "replay"
MOST_BYTES = 64 << 20
MOST_STALLS = 100_000
MS = 1_000_000
# How far a replay may be from what was recorded, and at least in either case.
SHARE = 0.25
RATE_SHARE = 0.05
LEAST_STALLS, LEAST_NS, LEAST_STALLED_NS = 2, 20 * MS, 200 * MS
# p99.9 of fewer calls is their longest.
FEWEST = 20
MADE_SHARE = 0.99

DAMAGED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)

# Duration of a call that stalled, and its ns by class of waiting.
Stall = tuple[int, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the recording beside that of its replay, and how far they may be."""

    name: str
    recorded: float
    replayed: float
    within: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the replay is near enough."""
        return abs(self.recorded - self.replayed) <= self.within

    def __str__(self) -> str:
        mark = "" if self.holds else "  FAILED"
        return (
            f"  {self.name:32}{self.recorded:12.1f}{self.replayed:12.1f}"
            f"  within {self.within:.1f} {self.unit}{mark}"
        )


def stalls(answer: Answer, comm: str | None = None) -> list[Stall]:
    """The calls that stalled while the workload ran, of tasks of that name alone where
    one is given."""
    found, end_ns = [], answer.run.get("window", "end_ns")
    for chain in answer.chains:
        if comm is not None and chain.task.comm != comm:
            continue
        if isinstance(end_ns, int) and chain.write.t_ns > end_ns:
            continue
        by_class = Counter[str]()
        for part in chain.parts:
            by_class[part.cls] += part.dur_ns
        found.append((chain.write.dur_ns, dict(by_class)))
    return found[:MOST_STALLS]


def is_replay(answer: Answer) -> bool:
    """Whether the run made a recording's calls again."""
    return (answer.run.path / REPORT).is_file()


def figures(answer: Answer) -> list[Figure]:
    """All that is compared. Raises UserError where a file is damaged."""
    report = answer.run.path / REPORT
    try:
        found: Any = msgspec.json.decode(files.content(report, MOST_BYTES))
        made = list(_of_calls(found))
    except (OSError, msgspec.MsgspecError, *DAMAGED):
        raise UserError(f"{report}: not what repro/replay reports") from None
    return made + list(_of_stalls(answer))


def lines(found: Iterable[Figure]) -> list[str]:
    """A table of the figures, those that fail marked."""
    rows = list(found)
    failed = sum(not row.holds for row in rows)
    head = f"{len(rows) - failed} of {len(rows)} figures of the calls came back"
    title = f"  {'':32}{'recorded':>12}{'replayed':>12}"
    return [f"{'FAILED' if failed else 'as expected'}: {head}", title, *map(str, rows)]


def _near(name: str, unit: str, sides: Sequence[float], least: float) -> Figure:
    """A figure that may be off by SHARE of what was recorded, and by the least."""
    return Figure(name, sides[0], sides[1], max(least, SHARE * sides[0]), unit)


def _of_calls(report: dict[str, Any]) -> Iterator[Figure]:
    """By what the replayer measured."""
    calls, made = int(report["calls"]), int(report["made"])
    failed = sum(int(row["failed"]) for row in report["operations"])
    yield Figure("calls", calls, made - failed, (1 - MADE_SHARE) * calls, "calls")
    was, now = (
        count / max(int(report[name]) / 1e9, 1e-9)
        for count, name in ((calls, "recorded_ns"), (made, "replayed_ns"))
    )
    yield Figure("calls a second", was, now, RATE_SHARE * was, "a second")
    for row in report["operations"]:
        name, sides = str(row["operation"]), (row["recorded"], row["replayed"])
        counts = [int(side["stalls"]) for side in sides]
        if any(counts):
            yield _near(f"{name}: stalls", "calls", counts, LEAST_STALLS)
            took = [int(side["stalled_ns"]) / MS for side in sides]
            # as many of the longest as may be missing
            off_ms = max(LEAST_STALLS, SHARE * counts[0]) * sides[0]["max_ns"] / MS
            yield _near(f"{name}: stalled ms", "ms", took, off_ms)
        if int(row["calls"]) >= FEWEST:
            late = [int(side["p999_ns"]) / MS for side in sides]
            yield _near(f"{name}: p99.9 ms", "ms", late, LEAST_NS / MS)


def _of_stalls(answer: Answer) -> Iterator[Figure]:
    """By what the tracers saw, from the longer of the two limits on."""
    path, begin = answer.run.path / STALLS, answer.stream.begin
    if not path.is_file():
        return
    limit_ns, recorded = _read(path)
    limit_ns = max(limit_ns, (begin.stall_ns or 0) if begin else 0)
    both = recorded, stalls(answer, COMM)
    sides = [[of for ns, of in side if of and ns >= limit_ns] for side in both]
    counts = [Counter(max(of, key=of.__getitem__) for of in side) for side in sides]
    sums = [sum(map(Counter, side), Counter[str]()) for side in sides]
    least_ns = max(LEAST_STALLED_NS, SHARE * sum(sums[0].values()))
    for cls in sorted(sums[0] | sums[1], key=lambda one: -sums[0][one]):
        of_class = [count[cls] for count in counts]
        if any(of_class):
            yield _near(f"{cls}: calls", "calls", of_class, LEAST_STALLS)
        took = [of_side[cls] / MS for of_side in sums]
        yield _near(f"{cls}: ms", "ms", took, least_ns / MS)


def _read(path: Path) -> tuple[int, list[Stall]]:
    try:
        found: Any = msgspec.json.decode(files.content(path, MOST_BYTES))
        rows = [
            (int(ns), {str(cls): int(of) for cls, of in by_class.items()})
            for ns, by_class in found["stalls"]
        ]
        return int(found["limit_ns"] or 0), rows
    except (OSError, msgspec.MsgspecError, *DAMAGED):
        raise UserError(f"{path}: no stalls of a recording") from None
