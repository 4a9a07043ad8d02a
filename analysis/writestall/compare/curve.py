# SPDX-License-Identifier: GPL-2.0-only
"""curve: by which factor an option's quantiles differ from the baseline's, all at once.

In each round, an option's quantiles are over those of what it is compared with; a point
is the median of the rounds. Its interval is of order statistics, so wide that all
intervals of a curve together hold with 95 %, whatever the distribution (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from writestall.compare.folder import Comparison, Option
from writestall.compare.ranking import QUANTILES
from writestall.compare.statistics import CONFIDENCE, Array


@dataclass(frozen=True, slots=True)
class Curve:
    """An option over its `baseline`, by quantile: the factor between both, and the
    band's ends."""

    option: str
    baseline: str
    rounds: int
    factor: Array
    low: Array
    high: Array


def depth(rounds: int, points: int) -> int:
    """Which value from either end, 1 being the outermost, bounds the median of so many
    rounds at each of so many points together; 0 if none does."""
    wrong = (1 - CONFIDENCE) / points / 2
    return int(stats.binom.ppf(wrong, rounds, 0.5)) if 0.5**rounds <= wrong else 0


def band(factors: Array) -> tuple[Array, Array, Array] | None:
    """The median of each column of `factors`, a row for each round, and its band's
    ends; None of too few rounds."""
    at = depth(*factors.shape)
    ordered = np.sort(factors, axis=0)
    return (np.median(factors, axis=0), ordered[at - 1], ordered[-at]) if at else None


def _of_round(option: Option) -> dict[int, Array]:
    """Each counted run's quantiles in ns, by round; 1 ns is the least."""
    return {
        run.round: np.array(
            [max(1.0, run.requests.quantile_ns(share)) for share in QUANTILES.values()]
        )
        for run in option.counted
    }


def between(option: Option, baseline: Option) -> Curve | None:
    """The curve of an option; None of too few common rounds."""
    one, base = _of_round(option), _of_round(baseline)
    common = sorted(set(one) & set(base))
    found = band(np.array([one[at] / base[at] for at in common])) if common else None
    return found and Curve(option.name, baseline.name, len(common), *found)


def curves(comparison: Comparison) -> list[Curve]:
    """The curves of all options, that of the baseline's repetition first."""
    repeated = [comparison.repeated] if comparison.repeated else []
    found = (
        between(option, comparison.reference(option))
        for option in (*repeated, *comparison.others)
    )
    return [one for one in found if one]
