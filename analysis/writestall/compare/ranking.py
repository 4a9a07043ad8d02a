# SPDX-License-Identifier: GPL-2.0-only
"""ranking: compare each option with the baseline, round by round, and rank them.

Rank, difference, interval and test are of one quantity: how an option's runs differ
from the baseline's runs of the same rounds, in what `--by` names (statistics.py). On
another kernel than the baseline's, an option is compared with itself on that one, and
comes behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from writestall.compare import changes, planned, statistics
from writestall.compare.changes import HOUR_S, Change
from writestall.compare.design import Design
from writestall.compare.folder import Comparison, Option, Run
from writestall.compare.statistics import Array, Estimate, Tested
from writestall_base import designs
from writestall_base.errors import UserError
from writestall_base.units import S_NS, duration_ns

QUANTILES = {
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99.9": 0.999,
    "p99.99": 0.9999,
    "max": 1.0,
}
REQUEST, WRITE = "request", "write"
# The effect that a comparison is planned for, if no other is wanted.
DEFAULT_EFFECT = 1.3


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers: `key` in JSON, `unit` is ns, share, /s, s/h or B."""

    key: str
    group: str
    heading: str
    unit: str

    @property
    def by_ratio(self) -> bool:
        """Whether options differ by a factor: no run measures 0 of it."""
        return self.unit in ("ns", "/s")


COLUMNS = (
    *(Column(f"request_{name}_ns", REQUEST, name, "ns") for name in QUANTILES),
    Column("over_slo_share", REQUEST, "over SLO", "share"),
    *(Column(f"write_{name}_ns", WRITE, name, "ns") for name in QUANTILES),
    Column("throughput_per_s", "", "requests/s", "/s"),
    Column("stall_s_per_hour", "", "stall s/h", "s/h"),
    Column("disk_bytes_per_request", "", "written B/request", "B"),
    Column("disk_flushes_per_s", "", "flushes/s", "/s"),
)
BY_KEY = {column.key: column for column in COLUMNS}
# The columns of each group by its title, in their order.
GROUPS = {
    title: [column for column in COLUMNS if column.group == group]
    for title, group in (("requests", REQUEST), ("writes", WRITE), ("in all", ""))
}
# Choices of --by, and its default.
CHOICES = {
    "over-slo": "over_slo_share",
    "stall": "stall_s_per_hour",
    **{name: f"request_{name}_ns" for name in QUANTILES},
}
DEFAULT_BY = "over-slo"


@dataclass(frozen=True, slots=True)
class Ranked:
    """An option's numbers by column, each the median of its runs; empty if no run
    counts. `pair` is None for the baseline, and without a common round."""

    option: Option
    numbers: dict[str, Estimate]
    pair: Pair | None
    cause: str | None
    root: str | None

    @property
    def runs(self) -> int:
        return len(self.option.counted)

    @property
    def calm(self) -> bool:
        """Whether runs were traced and no write stalled."""
        return "stall_s_per_hour" in self.numbers and self.cause is None


@dataclass(frozen=True, slots=True)
class Pair:
    """An option against its `baseline`, in the `rounds` in which both count.

    `difference` is the median of option minus baseline, `ratio` that of option over
    baseline (0 over 0 is 1). `lower` and `higher` are rounds. `contrast` is the one of
    both that the comparison is about; `better` says whether it is that of a lower one.
    `adjusted_p` is `p` for all options at once.
    """

    option: str
    baseline: str
    rounds: int
    lower: int
    higher: int
    difference: Estimate
    ratio: Estimate
    contrast: Estimate
    better: bool
    p: float
    adjusted_p: float
    clear: bool


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a comparison can find: `effect` is a factor, `rounds_for` the rounds that
    find it, `effect_at` what the present rounds find; None if nothing known does.

    `least` are the rounds below which nothing can be clear, `level` the part of the
    error probability that this look may spend (planned.py).
    """

    effect: float
    rounds: int
    level: float
    least: int
    rounds_for: int | None
    effect_at: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A comparison's result: `ranking`, best first by the column `by`.

    `noise` is the baseline against itself (A/A). `changes` are those behind the clear
    differences between kernels.
    """

    comparison: Comparison
    slo_ns: int
    by: Column
    ranking: list[Ranked]
    noise: Pair | None
    resolution: Resolution
    changes: list[Change]

    @property
    def void(self) -> bool:
        """Whether the baseline differs from itself: then nothing can be told."""
        return self.noise is not None and self.noise.clear

    @property
    def pairs(self) -> list[Pair]:
        """Each option against what it is compared with, in the order of the ranking."""
        return [row.pair for row in self.ranking if row.pair is not None]


def parse_slo(text: str) -> int:
    """Parse a time like `65ms` into ns; raise UserError if it is none."""
    if not (found := duration_ns(text)):
        raise UserError(f"--slo {text}: want a time with its unit, like 65ms or 1.5s")
    return round(found)


def answer(
    comparison: Comparison,
    slo_ns: int,
    by: str = DEFAULT_BY,
    effect: float = DEFAULT_EFFECT,
) -> Answer:
    """Compute all numbers and pairs; options without a counted run come last."""
    column = BY_KEY[CHOICES[by]]
    plan = comparison.plan
    rounds = plan["rounds"]
    level = planned.level(rounds, plan.get("looks", [rounds]), plan.get("added", ()))
    own = Own.read(comparison, slo_ns, column)
    pairs = own.pairs(level)
    noise = own.noise(level)
    found = {pair.option: pair for pair in pairs}
    ranking = [
        _ranked(option, slo_ns, found.get(option.name))
        for option in comparison.options
        if option is not comparison.repeated
    ]
    places = {
        row.option.name: (*_place(row, column), at) for at, row in enumerate(ranking)
    }
    ranking.sort(
        key=lambda row: (
            places[row.option.follows or row.option.name],
            row.option.follows is not None,
        )
    )
    resolution = own.resolution(effect, level)
    moved = [
        changes.between(comparison, row.option)
        for row in ranking
        if row.option.against and row.pair and row.pair.clear
    ]
    known = [change for change in moved if change]
    return Answer(comparison, slo_ns, column, ranking, noise, resolution, known)


def _place(row: Ranked, column: Column) -> tuple[bool, float, float]:
    """Where an option comes: by its contrast with the baseline, which has none."""
    if not row.numbers:
        return True, 0.0, 0.0
    neutral = 1.0 if column.by_ratio else 0.0
    value = row.pair.contrast.value if row.pair else neutral
    known = row.numbers.get(column.key)
    return False, value, known.value if known else 0.0


@dataclass(frozen=True, slots=True)
class Own:
    """What each run measures by itself, in one quantity: an array by round for each
    option, NaN where no run counts. `repeated` is the baseline once more, `against` has
    what options are compared with that are not compared with the baseline."""

    of: dict[str, Array]
    baseline: str
    repeated: str | None
    by_ratio: bool
    against: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, comparison: Comparison, slo_ns: int, column: Column) -> Own:
        """What the runs of a comparison measure."""
        rounds = comparison.plan["rounds"]
        values = {
            option.name: by_round(option, rounds, slo_ns, column)
            for option in comparison.options
        }
        repeated = comparison.repeated.name if comparison.repeated else None
        baseline = comparison.baseline.name
        against = {
            one.name: one.against
            for one in comparison.options
            if one.against not in (None, baseline)
        }
        return cls(values, baseline, repeated, column.by_ratio, against)

    @property
    def others(self) -> list[str]:
        """The options that are compared with the baseline."""
        return [one for one in self.of if one not in (self.baseline, self.repeated)]

    def reference(self, name: str) -> str:
        """What an option is compared with."""
        return self.against.get(name, self.baseline)

    @property
    def neutral(self) -> float:
        """The contrast of options that do not differ."""
        return 1.0 if self.by_ratio else 0.0

    def _common(self, *names: str) -> Array:
        """A row for each of these options, in the rounds in which all of them count."""
        block = np.array([self.of[name] for name in names])
        found: Array = block[:, ~np.isnan(block).any(axis=0)]
        return found

    def contrast(self, name: str) -> tuple[Array, Array]:
        """An option minus its reference, and over it, in their common rounds."""
        one, base = self._common(name, self.reference(name))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(one == base, 1.0, one / base)
        return one - base, ratio

    def _tested(self, *names: str) -> Tested:
        """The test of the first option against the others."""
        block = self._common(*names)
        # A factor of all runs of a round must not weigh it; 1 ns is the least.
        scaled = np.log(np.maximum(block, 1.0)) if self.by_ratio else block
        return statistics.within_rounds(scaled)

    def _against(self, name: str) -> list[str]:
        """What an option is tested against: the repetition, too, unless that is missing
        in most of its rounds."""
        if self.repeated is None or name in self.against:
            return [self.reference(name)]
        both = [self.baseline, self.repeated]
        there = self._common(name, *both).shape[1]
        pair = self._common(name, self.baseline).shape[1]
        return both if 2 * there > pair else [self.baseline]

    def pairs(self, level: float) -> list[Pair]:
        """Each option against its reference, where they have a round in common."""
        names = [
            one for one in self.others if self._common(one, self.reference(one)).size
        ]
        tested = [self._tested(name, *self._against(name)) for name in names]
        adjusted = statistics.holm(np.array([one.p for one in tested]))
        return [
            self._pair(name, one, float(p), level)
            for name, one, p in zip(names, tested, adjusted, strict=True)
        ]

    def _pair(self, name: str, tested: Tested, adjusted: float, level: float) -> Pair:
        both = self.contrast(name)
        difference, ratio = (statistics.median(values) for values in both)
        contrast = ratio if self.by_ratio else difference
        agrees = np.sign(contrast.value - self.neutral) == tested.sign
        clear = designs.is_clear(tested.p, adjusted, level)
        return Pair(
            name,
            self.reference(name),
            len(both[0]),
            int((both[0] < 0).sum()),
            int((both[0] > 0).sum()),
            difference,
            ratio,
            contrast,
            contrast.value < self.neutral,
            tested.p,
            adjusted,
            clear and bool(agrees) and contrast.excludes(self.neutral),
        )

    def noise(self, level: float) -> Pair | None:
        """The baseline's repetition against the baseline (A/A)."""
        name = self.repeated
        if name is None or not self._common(name, self.baseline).size:
            return None
        tested = self._tested(name, self.baseline)
        return self._pair(name, tested, tested.p, level)

    def resolution(self, effect: float, level: float) -> Resolution:
        """What so many rounds can find, judged by the runs that there are."""
        columns = 3 if self.repeated and not self.against else 2
        pairs = max(1, len(self.others))
        rounds, part = len(self.of[self.baseline]), level or designs.PLANNED
        known = np.array([row for row in self.of.values() if not np.isnan(row).all()])
        design = Design.of(known, pairs, columns, part)
        return Resolution(
            effect,
            rounds,
            level,
            designs.least_rounds(pairs, columns, part),
            design.rounds_for(effect) if design else None,
            design.effect_at(rounds) if design else None,
        )


def by_round(option: Option, rounds: int, slo_ns: int, column: Column) -> Array:
    """What an option's runs measure; NaN for a round without a run that counts."""
    found = np.full(rounds, np.nan)
    for run in option.counted:
        if (value := measure(run, slo_ns, column)) is not None:
            found[run.round - 1] = value
    return found


def measure(run: Run, slo_ns: int, column: Column) -> float | None:
    """What a run measures, in the column's unit; None if it did not measure that."""
    if column.unit == "ns":
        tally = run.requests if column.group == REQUEST else run.writes
        return tally.quantile_ns(QUANTILES[column.heading])
    if column.unit == "share":
        return run.requests.over(slo_ns) / run.requests.count
    value, per = PARTS[column.key](run)
    return None if value is None else value / per


# What a column is the quotient of. The log of calls has no write that never began.
PARTS: dict[str, Callable[[Run], tuple[float | None, float]]] = {
    "throughput_per_s": lambda run: (run.writes.count, run.duration_s),
    "stall_s_per_hour": lambda run: (run.stall_ns, S_NS * run.duration_s / HOUR_S),
    "disk_bytes_per_request": lambda run: (run.disk_written_bytes, run.writes.count),
    "disk_flushes_per_s": lambda run: (run.disk_flushes, run.duration_s),
}


def _ranked(option: Option, slo_ns: int, pair: Pair | None) -> Ranked:
    numbers: dict[str, Estimate] = {}
    for column in COLUMNS:
        found = (measure(run, slo_ns, column) for run in option.counted)
        if values := [value for value in found if value is not None]:
            numbers[column.key] = statistics.median(np.array(values))
    classes = sum((run.by_class for run in option.counted), Counter[str]())
    roots = sum((run.by_root for run in option.counted), Counter[str]())
    return Ranked(option, numbers, pair, _largest(classes), _largest(roots))


def _largest(ns_by_name: Counter[str]) -> str | None:
    """The name with most time, and its share."""
    if not ns_by_name:
        return None
    name, ns = ns_by_name.most_common(1)[0]
    return f"{name} {100 * ns / ns_by_name.total():.0f} %"


def pooled_share(option: Option, slo_ns: int) -> float:
    """The share of all requests of an option's runs over the limit, 0 to 1."""
    requests = [run.requests for run in option.counted]
    return sum(one.over(slo_ns) for one in requests) / sum(
        one.count for one in requests
    )
