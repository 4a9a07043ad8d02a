# SPDX-License-Identifier: GPL-2.0-only
"""rules: hold each option to an objective and to a margin over the baseline.

A rule's bounds are wrong, for all options and rules together, in FAMILY_ALPHA of
comparisons at most. docs/compare.md has what each word means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from writestall.compare import ranking, statistics
from writestall.compare.folder import Option
from writestall.compare.ranking import Answer, Own
from writestall.compare.statistics import Array
from writestall_base import designs
from writestall_base.objectives import Objective, parse_factor, parse_objective
from writestall_base.units import many, percent

BASELINE = "it is the baseline"
# An interval that lies within this factor of a limit on both sides is at the limit.
NEAR = 1.1


class Word(StrEnum):
    """A verdict."""

    PASS = "PASS"
    FAIL = "FAIL"
    MARGINAL = "MARGINAL"
    UNKNOWN = "UNKNOWN"


# The word of several rules: the first that one of them has.
ORDER = (Word.FAIL, Word.UNKNOWN, Word.MARGINAL, Word.PASS)


@dataclass(frozen=True, slots=True)
class Rules:
    """What an option is held to; neither: nothing is judged."""

    objective: Objective | None = None
    margin: float | None = None
    may_lose: bool = False

    @property
    def count(self) -> int:
        return (self.objective is not None) + (self.margin is not None)


def of_plan(plan: dict[str, Any]) -> Rules:
    """The rules that the plan of a comparison fixed."""
    found = plan.get("rules") or {}
    objective, margin = found.get("objective"), found.get("margin")
    return Rules(
        parse_objective(objective) if objective else None,
        parse_factor("--margin", margin, 0) if margin else None,
        bool(found.get("may_lose")),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """An option's verdict, and a sentence for each rule."""

    option: str
    word: Word
    reasons: list[str] = field(default_factory=list)


def verdicts(answer: Answer, rules: Rules) -> list[Verdict]:
    """The verdict of each option, in the order of the ranking."""
    if not rules.count:
        return []
    judged = [row.option for row in answer.ranking]
    tail = designs.FAMILY_ALPHA / (len(judged) * rules.count)
    return [
        _verdict(answer, rules, option, tail * answer.resolution.level)
        for option in judged
    ]


def _verdict(answer: Answer, rules: Rules, option: Option, tail: float) -> Verdict:
    found = [(Word.UNKNOWN, why) for why in _undecidable(answer, option, tail)]
    if not found:
        found = list(_by_rule(answer, rules, option, tail))
    found += [(Word.FAIL, why) for why in _losses(answer, rules, option)]
    words = {word for word, _ in found}
    word = next(word for word in ORDER if word in words)
    return Verdict(option.name, word, [why for _, why in found])


def _undecidable(answer: Answer, option: Option, tail: float) -> Iterator[str]:
    """Why nothing can be said of an option, whatever its runs measured."""
    if answer.void:
        yield "the comparison is void: its baseline differs from itself"
    elif not option.counted:
        yield "no run of it counts"
    elif not tail:
        yield f"no look at {answer.resolution.rounds} rounds was planned"
    elif share := answer.comparison.level.beyond.get(option.name):
        yield f"overloaded: it did {percent(share)} of the load"


def _losses(answer: Answer, rules: Rules, option: Option) -> Iterator[str]:
    for kept in answer.comparison.kept:
        count = kept.synced.lost_synced
        if kept.option == option.name and count and not rules.may_lose:
            lost = f"lost {many(count, 'record')} that fsync(2) had confirmed"
            yield f"{lost}, in {kept.losing_cuts} cuts"


def _by_rule(
    answer: Answer, rules: Rules, option: Option, tail: float
) -> Iterator[tuple[Word, str]]:
    rounds = answer.comparison.plan["rounds"]
    if rules.objective:
        column = ranking.BY_KEY["over_slo_share"]
        slo_ns = rules.objective.slo_ns
        shares = ranking.by_round(option, rounds, slo_ns, column)
        pooled = ranking.pooled_share(option, slo_ns)
        yield hold_objective(shares, pooled, rules.objective.share, tail)
    if rules.margin:
        if answer.comparison.is_reference(option):
            yield Word.PASS, BASELINE
        else:
            own = Own.read(answer.comparison, answer.slo_ns, answer.by)
            _, ratios = own.contrast(option.name)
            reference = option.against or "the baseline"
            yield hold_margin(ratios, rules.margin, tail, reference)


def hold_objective(
    shares: Array, pooled: float, limit: float, tail: float
) -> tuple[Word, str]:
    """Hold runs' shares of requests over the objective to its limit (all 0 to 1).

    `pooled` is the share of all requests together. `tail` is the probability of a wrong
    FAIL, and of a PASS though the median is over the limit.
    """
    known = shares[~np.isnan(shares)]
    _, high = statistics.bounds(known, tail)
    low, _ = statistics.bounds(known, tail * designs.BY_MEDIAN)
    met = int((known < limit).sum())
    runs = many(len(known), "run")
    said = f"{met} of {runs} met it, {100 * pooled:.3g} % of all requests over"
    if (low is not None and low > limit) or statistics.mean_exceeds(
        known, limit, tail * designs.BY_MEAN
    ):
        return Word.FAIL, said
    if high is None:
        return Word.UNKNOWN, f"{said}; {_too_few(tail)}"
    if high < limit and pooled < limit:
        least = tail ** (1 / len(known)) if met == len(known) else 0.5
        return Word.PASS, f"{said}; at least {100 * least:.0f} % of such runs meet it"
    return _near(shares, limit), said


def hold_margin(
    ratios: Array, margin: float, tail: float, reference: str = "the baseline"
) -> tuple[Word, str]:
    """Hold runs over the reference's of their rounds to a factor."""
    if not len(ratios):
        return Word.UNKNOWN, f"no round in which its run and one of {reference} count"
    low, high = statistics.bounds(ratios, tail)
    found = statistics.median(ratios)
    said = f"{found.value:.2f}x {reference}"
    if np.isinf(found.value):
        said = f"{reference} measures 0"
    elif found.low is not None and found.high is not None:
        said += f" ({found.low:.2f} to {found.high:.2f})"
    if low is None or high is None:
        return Word.UNKNOWN, f"{said}; {_too_few(tail)}"
    if high < margin:
        return Word.PASS, said
    if low > margin:
        return Word.FAIL, said
    return _near(ratios, margin), said


def _near(values: Array, limit: float) -> Word:
    """MARGINAL if the median is known to be at the limit, else UNKNOWN."""
    found = statistics.median(values)
    if found.low is None or found.high is None:
        return Word.UNKNOWN
    near = limit / NEAR <= found.low and found.high <= limit * NEAR
    return Word.MARGINAL if near else Word.UNKNOWN


def _too_few(tail: float) -> str:
    return f"fewer than {designs.least_runs(tail)} runs cannot decide"
