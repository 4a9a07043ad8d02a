# SPDX-License-Identifier: GPL-2.0-only
"""statistics: intervals, tests and required sample sizes of a comparison.

The bootstrap is Efron's with percentiles ("Bootstrap methods: another look at the
jackknife", 1979). Whole runs are resampled, since writes within a run depend on each
other. The permutation test is Fisher's, exact if there are few permutations. Both are
SciPy's. Random numbers have a fixed seed: the same runs give the same answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Array = npt.NDArray[np.float64]
# Maps sums of runs, one row for each resample, to one value for each.
Statistic = Callable[[Array], Array]

SEED = 20190101
CONFIDENCE = 0.95
ALPHA = 0.05
POWER = 0.8
DRAWS = 999
# Up to as many SciPy tries all permutations; beyond, it samples them.
PERMUTATIONS = 9_999
# Fewer than these on either side cannot differ at ALPHA: 2 of C(8, 4) is 0.029.
LEAST_RUNS = 4
SIZES: tuple[int, ...] = (*range(LEAST_RUNS, 13), 16, 20, 24, 32, 48, 64)
POWER_DRAWS = 400


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its interval; no interval for a single run."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The second mean minus the first, of the runs' own values; `p` is the test's."""

    estimate: Estimate
    p: float


def quantile(values: Array, share: float) -> Statistic:
    """The value that `share` of all do not exceed; sums are counts of `values`.

    As in HdrHistogram: the smallest recorded value that enough do not exceed.
    """

    def of(sums: Array) -> Array:
        reached = np.cumsum(sums, axis=-1)
        wanted = np.maximum(1.0, np.ceil(share * reached[..., -1:] - 1e-9))
        found: Array = values[np.argmax(reached >= wanted, axis=-1)]
        return found

    return of


def ratio(sums: Array) -> Array:
    """The first column's sum over the second's."""
    found: Array = sums[..., 0] / sums[..., 1]
    return found


def estimate(runs: Array, statistic: Statistic) -> Estimate:
    """Estimate a statistic of the sum of all runs; `runs` has a row for each."""
    value = float(statistic(runs.sum(axis=0)))
    if len(runs) < 2:
        return Estimate(value)

    def of_drawn(drawn: npt.NDArray[Any], axis: int = -1) -> Array:
        # How often each run was drawn. Few runs have few distinct resamples.
        one_hot = np.moveaxis(drawn, axis, -1)[..., None] == np.arange(len(runs))
        times, which = np.unique(one_hot.sum(axis=-2), axis=0, return_inverse=True)
        found: Array = statistic(times.astype(np.float64) @ runs)[which]
        return found

    low, high = _interval((np.arange(len(runs)),), of_drawn)
    return Estimate(value, low, high)


def _interval(
    data: tuple[npt.NDArray[Any], ...], statistic: Any
) -> tuple[float, float]:
    found = stats.bootstrap(
        data,
        statistic,
        n_resamples=DRAWS,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def _gap(first: Array, second: Array, axis: int = -1) -> Array:
    found: Array = second.mean(axis=axis) - first.mean(axis=axis)
    return found


def difference(first: Array, second: Array) -> Difference:
    """Compare two options by their runs' values; each needs two runs or more."""
    gap = float(_gap(first, second))
    low, high = _interval((first, second), _gap)
    tested = stats.permutation_test(
        (first, second),
        _gap,
        permutation_type="independent",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(SEED),
    )
    return Difference(Estimate(gap, low, high), float(tested.pvalue))


def adjusted(p_values: Array) -> Array:
    """Adjust p-values for multiple comparisons (Benjamini and Hochberg, 1995)."""
    if not len(p_values):
        return p_values
    found: Array = stats.false_discovery_control(p_values)
    return found


def needed(first: Array, second: Array) -> int | None:
    """The least number of runs of each that shows this difference with probability
    POWER; None if not even the largest of SIZES would.

    Runs are resampled to each size and compared with Welch's t test: a permutation
    test of each resample would take hours.
    """
    if first.mean() == second.mean():
        return None
    draw = np.random.default_rng(SEED)
    for size in SIZES:
        shape = (POWER_DRAWS, size)
        one, other = draw.choice(first, shape), draw.choice(second, shape)
        if float(_differ(one, other).mean()) >= POWER:
            return size
    return None


def _differ(one: Array, other: Array) -> npt.NDArray[np.bool_]:
    """Whether each row of `one` differs significantly from that of `other`."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows of equal values
        p = stats.ttest_ind(one, other, axis=1, equal_var=False).pvalue
    # Rows without variance have no p: their means differ or not.
    same = np.isnan(p) & (one.mean(axis=1) == other.mean(axis=1))
    found: npt.NDArray[np.bool_] = (np.nan_to_num(p, nan=0.0) < ALPHA) & ~same
    return found


def most_coverage(runs: int) -> float:
    """The highest possible confidence of an interval from so many runs, 0 to 1.

    A median lies outside all of n runs with a probability of 2 in 2 ** n, and no
    resample has values beyond theirs.
    """
    return 1.0 - 2.0 ** (1 - runs)
