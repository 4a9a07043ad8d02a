# SPDX-License-Identifier: GPL-2.0-only
"""ranking: compute each option's numbers and confidence, and rank the options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from writestall.compare import statistics
from writestall.compare.folder import Comparison, Option, Run
from writestall.compare.statistics import Array, Difference, Estimate, Statistic
from writestall.events.hlog import counts_of
from writestall_base.errors import UserError
from writestall_base.units import S_NS, duration_ns

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
    """A column of numbers: `key` in JSON, `unit` is ns, share, /s or s/h."""

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
# Choices of --by, and its default.
CHOICES = {
    **{name: f"request_{name}_ns" for name in QUANTILES},
    "over-slo": "over_slo_share",
    "stall": "stall_s_per_hour",
}
DEFAULT_BY = "p99.9"


@dataclass(frozen=True, slots=True)
class Ranked:
    """An option's numbers by column; empty if no run of it counts."""

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
        """Whether runs were traced and no write stalled."""
        return "stall_s_per_hour" in self.numbers and self.cause is None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two options, the better one first; `p` is adjusted for all pairs at once.

    `needed`: runs of each option that would make an unclear difference clear.
    """

    better: str
    worse: str
    difference: Difference
    p: float
    needed: int | None

    @property
    def clear(self) -> bool:
        """Whether the difference is statistically significant."""
        return self.p < statistics.ALPHA


@dataclass(frozen=True, slots=True)
class Answer:
    """A comparison's result: `ranking`, best first by the column `by`."""

    comparison: Comparison
    slo_ns: int
    by: Column
    ranking: list[Ranked]
    pairs: list[Pair]

    def pair(self, better: str, worse: str) -> Pair | None:
        """The pair of these two options; None if one has too few runs."""
        found = (p for p in self.pairs if {p.better, p.worse} == {better, worse})
        return next(found, None)

    @property
    def ties(self) -> list[str]:
        """Options that are not clearly worse than the best."""
        best, *others = [row.option.name for row in self.ranking if row.numbers]
        pairs = ((name, self.pair(best, name)) for name in others)
        return [name for name, pair in pairs if pair is None or not pair.clear]


def parse_slo(text: str) -> int:
    """Parse a time like `65ms` into ns; raise UserError if it is none."""
    if not (found := duration_ns(text)):
        raise UserError(f"--slo {text}: want a time with its unit, like 65ms or 1.5s")
    return round(found)


def answer(comparison: Comparison, slo_ns: int, by: str = DEFAULT_BY) -> Answer:
    """Compute all numbers and pairs; options without a counted run come last."""
    column = BY_KEY[CHOICES[by]]
    sign = 1 if column.less_is_better else -1
    ranking, own = [], {}
    for option in comparison.options:
        material = Material(option.counted, slo_ns)
        ranking.append(_ranked(option, material))
        rows, statistic = material.of(column)
        own[option.name] = statistic(rows) if len(rows) else rows

    def place(row: Ranked) -> tuple[bool, float]:
        known = column.key in row.numbers
        return not known, sign * row.numbers[column.key].value if known else 0.0

    ranking.sort(key=place)
    pairs = _pairs([row.option.name for row in ranking], own)
    return Answer(comparison, slo_ns, column, ranking, pairs)


class Material:
    """An option's counted runs as rows that can be summed."""

    def __init__(self, runs: Sequence[Run], slo_ns: int) -> None:
        self._runs = runs
        self._slo_ns = slo_ns
        self._counts = {
            group: _counts([latencies(run, group) for run in runs])
            for group in (REQUEST, WRITE)
        }

    def of(self, column: Column) -> tuple[Array, Statistic]:
        """A row for each run, and the statistic that a column computes of their sum."""
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
        # The log of calls has no write that never began.
        return self._counts[WRITE][1][at].sum(), run.duration_s

    def _stalled(self, _: int, run: Run) -> tuple[float, float] | None:
        if run.stall_ns is None:
            return None
        return run.stall_ns / S_NS, run.duration_s / HOUR_S


def latencies(run: Run, group: str) -> Counter[int]:
    """Counts of requests or writes of a run, by latency in ns."""
    log = run.requests if group == REQUEST else run.writes
    return Counter(counts_of(log.total))


def _counts(counters: Sequence[Counter[int]]) -> tuple[Array, Array]:
    """All latencies that occur, in ascending order, and their counts in each run."""
    values = sorted({ns for counter in counters for ns in counter})
    counts = [[counter[ns] for ns in values] for counter in counters]
    return np.array(values, dtype=np.float64), np.array(counts, dtype=np.float64)


def _ranked(option: Option, material: Material) -> Ranked:
    numbers: dict[str, Estimate] = {}
    for column in COLUMNS if option.counted else ():
        rows, statistic = material.of(column)
        if len(rows):
            numbers[column.key] = statistics.estimate(rows, statistic)
    classes = sum((run.by_class for run in option.counted), Counter[str]())
    roots = sum((run.by_root for run in option.counted), Counter[str]())
    return Ranked(option, numbers, _largest(classes), _largest(roots))


def _largest(ns_by_name: Counter[str]) -> str | None:
    """The name with most time, and its share."""
    if not ns_by_name:
        return None
    name, ns = ns_by_name.most_common(1)[0]
    return f"{name} {100 * ns / ns_by_name.total():.0f} %"


def _pairs(names: Sequence[str], own: dict[str, Array]) -> list[Pair]:
    """All pairs of options with enough runs; `names` has the better one first."""
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
