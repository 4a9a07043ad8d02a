# SPDX-License-Identifier: GPL-2.0-only
"""statistics: medians of runs with exact intervals, and a test within rounds.

Writes of a run depend on each other, so a run counts as one value. Nothing is assumed
of how runs are distributed (docs/compare-statistics.md has the alternatives that were
simulated):

- A median's interval is of order statistics, which the binomial distribution gives:
  H. A. David and H. N. Nagaraja, "Order Statistics", 7.1. At the printed confidence it
  interpolates between two of them: Hettmansperger and Sheather, "Confidence intervals
  based on interpolated order statistics", 1986.
- The test permutes the runs of each round, as D. Quade's ("Using weighted rankings in
  the analysis of complete blocks with additive block effects", 1979). All permutations
  are counted, up to MOST_EXACT rounds. Of two runs in a round it is Wilcoxon's
  signed-rank test.
- Several tests at once: S. Holm, "A simple sequentially rejective multiple test
  procedure", 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy import stats

from writestall_base.designs import LEAST_RUNS

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
# Up to so many rounds all permutations are counted; beyond, their sum is normal.
MOST_EXACT = 64


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median and its interval; no interval of fewer than LEAST_RUNS values.

    `confidence` is the interval's, 0 to 1.
    """

    value: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None

    def excludes(self, value: float) -> bool:
        """Whether there is an interval, and the value is outside of it."""
        if self.low is None or self.high is None:
            return False
        return value < self.low or value > self.high


@dataclass(frozen=True, slots=True)
class Tested:
    """A test's p, two-sided, and in which direction the first runs differ: -1, 0, 1."""

    p: float
    sign: int


def quantile(values: Array, counts: Array, share: float) -> Array:
    """The value that `share` of all do not exceed; a row has counts of `values`.

    As in HdrHistogram: the smallest recorded value that enough do not exceed.
    """
    reached = np.cumsum(counts, axis=-1)
    wanted = np.maximum(1.0, np.ceil(share * reached[..., -1:] - 1e-9))
    found: Array = values[np.argmax(reached >= wanted, axis=-1)]
    return found


def median(values: Array) -> Estimate:
    """Estimate the median of what one run measures; NaN are left out."""
    known = np.sort(values[~np.isnan(values)])
    if len(known) < LEAST_RUNS:
        return Estimate(_middle(known))
    low, high, confidence = interval(known)
    return Estimate(_middle(known), float(low), float(high), confidence)


def _middle(ordered: Array) -> float:
    """The median, also of infinite values."""
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return float(low if low == high else (low + high) / 2)


def interval(ordered: Array) -> tuple[Array, Array, float]:
    """The interval of the median of each row of ascending values; its confidence."""
    depth, towards, confidence = _depth(ordered.shape[-1])
    low = _between(ordered[..., depth - 1], ordered[..., depth], towards)
    high = _between(ordered[..., -depth], ordered[..., -depth - 1], towards)
    return low, high, confidence


def _between(outer: Array, inner: Array, towards: float) -> Array:
    with np.errstate(invalid="ignore"):  # inf - inf
        found = (1 - towards) * outer + (towards * inner if towards else 0.0)
    return cast(Array, np.where(outer == inner, outer, found))


@cache
def _depth(count: int) -> tuple[int, float, float]:
    """Which order statistics enclose a median: their depth, how far to go from there
    to the next ones (0 to 1), and the confidence."""
    depths = np.arange(1, count // 2 + 1)
    covered = 1 - 2 * stats.binom.cdf(depths - 1, count, 0.5)
    at = int((covered >= CONFIDENCE).sum())
    if at in (0, len(depths)):
        return max(at, 1), 0.0, float(covered[max(at, 1) - 1])
    depth = at
    part = (covered[at - 1] - CONFIDENCE) / (covered[at - 1] - covered[at])
    towards = (count - depth) * part / (depth + (count - 2 * depth) * part)
    return depth, float(towards), CONFIDENCE


def bounds(values: Array, tail: float) -> tuple[float | None, float | None]:
    """The median's lower and upper bound, each wrong with probability `tail` at most.

    None where so few runs cannot give one.
    """
    known = np.sort(values[~np.isnan(values)])
    depth = int(stats.binom.ppf(tail, len(known), 0.5))
    if stats.binom.cdf(depth, len(known), 0.5) > tail:
        depth -= 1
    if depth < 0:
        return None, None
    return float(known[depth]), float(known[-depth - 1])


def mean_exceeds(values: Array, limit: float, tail: float) -> bool:
    """Whether the mean of what a run measures is over the limit; `values` are >= 0.

    Each value over `limit` multiplies a stake that is expected not to grow if the mean
    is at most the limit; that it ever reaches 1 / tail has probability `tail` then
    (J. Ville; Waudby-Smith and Ramdas, "Estimating means of bounded random variables
    by betting", 2024). It needs no bound of the values, and holds at any time.
    """
    known = values[~np.isnan(values)]
    if limit <= 0 or not len(known):
        return bool((known > 0).any()) if limit == 0 else False
    shares = (np.arange(100) + 0.5) / 100
    logs = np.log1p(shares[:, None] * (known / limit - 1)).sum(axis=1)
    return bool(np.logaddexp.reduce(logs) - np.log(len(shares)) >= -np.log(tail))


def scores(block: Array) -> npt.NDArray[np.int64]:
    """The score of each run, a row for each option and a column for each round.

    A run's rank within its round, from the middle, times the rank of the round's range
    among the rounds: a whole number of quarters.
    """
    ranks = stats.rankdata(block, axis=0) - (len(block) + 1) / 2
    weights = stats.rankdata(np.ptp(block, axis=0))
    found: npt.NDArray[np.int64] = np.rint(4 * ranks * weights).astype(np.int64)
    return found


def within_rounds(block: Array) -> Tested:
    """Test whether the first row's runs differ from the others' of the same rounds.

    If not, any of a round's runs could as well have been the first row's.
    """
    each = scores(block)
    each //= max(1, int(np.gcd.reduce(each, axis=None)))
    seen, middle = int(each[0].sum()), int(np.abs(each).max(axis=0).sum())
    sign = int(np.sign(seen))
    if middle and each.shape[1] > MOST_EXACT:
        spread = np.sqrt((each.astype(np.float64) ** 2).mean(axis=0).sum())
        return Tested(2 * float(stats.norm.sf(abs(seen), scale=spread)), sign)
    chances = np.zeros(2 * middle + 1)
    chances[middle] = 1.0
    for row in each.T:
        chances = np.mean([np.roll(chances, score) for score in row], axis=0)
    above = chances[middle + seen :].sum()
    below = chances[: middle + seen + 1].sum()
    return Tested(min(1.0, 2 * float(min(above, below))), sign)


def holm(p_values: Array) -> Array:
    """Adjust p-values for testing all of them."""
    order = np.argsort(p_values)
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    found = np.empty_like(p_values)
    found[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return found
