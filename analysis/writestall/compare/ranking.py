# SPDX-License-Identifier: GPL-2.0-only
"""ranking: turns a comparison into each option's numbers, and how sure they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from writestall.common.errors import WritestallError
from writestall.compare import statistics
from writestall.compare.folder import Comparison, Option, Run
from writestall.compare.statistics import Array, Difference, Estimate, Statistic

UNITS_NS = {"us": 10**3, "ms": 10**6, "s": 10**9}
HOUR_S = 3600
QUANTILES = {
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99.9": 0.999,
    "p99.99": 0.9999,
    "max": 1.0,
}
REQUEST, WRITE = "request", "write"


@dataclass(frozen=True, slots=True)
class Column:
    """One number of an option: `key` in JSON, `unit` ns, share, /s or s/h."""

    key: str
    group: str
    heading: str
    unit: str
    less_is_better: bool = True


COLUMNS = (
    *(Column(f"request_{name}_ns", REQUEST, name, "ns") for name in QUANTILES),
    Column("over_slo_share", REQUEST, "over SLO", "share"),
    *(Column(f"write_{name}_ns", WRITE, name, "ns") for name in QUANTILES),
    Column("throughput_per_s", "", "requests/s", "/s", less_is_better=False),
    Column("stall_s_per_hour", "", "stall s/h", "s/h"),
)
BY_KEY = {column.key: column for column in COLUMNS}
# What --by takes, and what decides where nobody says.
CHOICES = {
    **{name: f"request_{name}_ns" for name in QUANTILES},
    "over-slo": "over_slo_share",
    "stall": "stall_s_per_hour",
}
DEFAULT_BY = "p99.9"


@dataclass(frozen=True, slots=True)
class Standing:
    """An option's numbers by column; none where no run counts."""

    option: Option
    numbers: dict[str, Estimate]
    cause: str | None
    root: str | None

    @property
    def runs(self) -> int:
        """How many of its runs count."""
        return len(self.option.counted)

    @property
    def calm(self) -> bool:
        """Whether runs that a tracer watched saw no write stall."""
        return "stall_s_per_hour" in self.numbers and self.cause is None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two options, the better one first; `p` is adjusted for all pairs at once.

    `needed` are the runs a side that would tell apart what is not clear.
    """

    better: str
    worse: str
    difference: Difference
    p: float
    needed: int | None

    @property
    def clear(self) -> bool:
        """Whether so large a difference hardly comes about by chance."""
        return self.p < statistics.ALPHA


@dataclass(frozen=True, slots=True)
class Answer:
    """The comparison answered: `standings` best first by the column `by`."""

    comparison: Comparison
    slo_ns: int
    by: Column
    standings: list[Standing]
    pairs: list[Pair]

    def pair(self, better: str, worse: str) -> Pair | None:
        """What is known of these two, None where one has too few runs."""
        found = (p for p in self.pairs if {p.better, p.worse} == {better, worse})
        return next(found, None)

    @property
    def ties(self) -> list[str]:
        """Options not clearly worse than the best one."""
        best, *others = [row.option.name for row in self.standings if row.numbers]
        pairs = ((name, self.pair(best, name)) for name in others)
        return [name for name, pair in pairs if pair is None or not pair.clear]


def parse_slo(text: str) -> int:
    """`65ms` in ns; raises WritestallError."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(us|ms|s)", text)
    if not found or not float(found[1]):
        raise WritestallError(
            f"--slo {text}: want a time with its unit, like 65ms or 1.5s"
        )
    return round(float(found[1]) * UNITS_NS[found[2]])


def answer(comparison: Comparison, slo_ns: int, by: str = DEFAULT_BY) -> Answer:
    """All numbers, all pairs; options without a run that counts come last."""
    column = BY_KEY[CHOICES[by]]
    sign = 1 if column.less_is_better else -1
    standings, own = [], {}
    for option in comparison.options:
        material = Material(option.counted, slo_ns)
        standings.append(_standing(option, material))
        rows, statistic = material.of(column)
        own[option.name] = statistic(rows) if len(rows) else rows

    def place(row: Standing) -> tuple[bool, float]:
        known = column.key in row.numbers
        return not known, sign * row.numbers[column.key].value if known else 0.0

    standings.sort(key=place)
    pairs = _pairs([row.option.name for row in standings], own)
    return Answer(comparison, slo_ns, column, standings, pairs)


class Material:
    """An option's counted runs as rows that can be summed, made once."""

    def __init__(self, runs: Sequence[Run], slo_ns: int) -> None:
        self._runs = runs
        self._slo_ns = slo_ns
        self._counts = {
            group: _counts([latencies(run, group) for run in runs])
            for group in (REQUEST, WRITE)
        }

    def of(self, column: Column) -> tuple[Array, Statistic]:
        """What of each run is added up for a column, and what is made of the sums."""
        if column.unit == "ns":
            values, counts = self._counts[column.group]
            return counts, statistics.quantile(values, QUANTILES[column.heading])
        row = {"share": self._over, "/s": self._done, "s/h": self._stalled}[column.unit]
        rows = [row(at, run) for at, run in enumerate(self._runs)]
        known = [pair for pair in rows if pair is not None]
        return np.array(known, dtype=np.float64), statistics.ratio

    def _over(self, at: int, _: Run) -> tuple[float, float]:
        values, counts = self._counts[REQUEST]
        return counts[at][values > self._slo_ns].sum(), counts[at].sum()

    def _done(self, at: int, run: Run) -> tuple[float, float]:
        # A write that never began is in no log of calls.
        return self._counts[WRITE][1][at].sum(), run.duration_s

    def _stalled(self, _: int, run: Run) -> tuple[float, float] | None:
        if run.stall_ns is None:
            return None
        return run.stall_ns / UNITS_NS["s"], run.duration_s / HOUR_S


def latencies(run: Run, group: str) -> Counter[int]:
    """Latency in ns to how many, of the whole run."""
    total: Counter[int] = Counter()
    for interval in (run.requests if group == REQUEST else run.writes).intervals:
        total.update(interval.counts)
    return total


def _counts(counters: Sequence[Counter[int]]) -> tuple[Array, Array]:
    """All latencies that occur, rising, and how often in each run."""
    values = sorted({ns for counter in counters for ns in counter})
    counts = [[counter[ns] for ns in values] for counter in counters]
    return np.array(values, dtype=np.float64), np.array(counts, dtype=np.float64)


def _standing(option: Option, material: Material) -> Standing:
    numbers: dict[str, Estimate] = {}
    for column in COLUMNS if option.counted else ():
        rows, statistic = material.of(column)
        if len(rows):
            numbers[column.key] = statistics.estimate(rows, statistic)
    classes = sum((run.by_class for run in option.counted), Counter[str]())
    roots = sum((run.by_root for run in option.counted), Counter[str]())
    return Standing(option, numbers, _largest(classes), _largest(roots))


def _largest(ns_by_name: Counter[str]) -> str | None:
    """What most time went to, with its share."""
    if not ns_by_name:
        return None
    name, ns = ns_by_name.most_common(1)[0]
    return f"{name} {100 * ns / ns_by_name.total():.0f} %"


def _pairs(names: Sequence[str], own: dict[str, Array]) -> list[Pair]:
    """Every two options with runs enough, the first of `names` being the better one."""
    both = list(combinations([name for name in names if len(own[name]) > 1], 2))
    found = [statistics.difference(own[one], own[other]) for one, other in both]
    adjusted = statistics.adjusted(np.array([pair.p for pair in found]))
    return [
        Pair(
            one,
            other,
            difference,
            float(p),
            None if p < statistics.ALPHA else statistics.needed(own[one], own[other]),
        )
        for (one, other), difference, p in zip(both, found, adjusted, strict=True)
    ]
