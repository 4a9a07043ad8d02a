# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the coverage of intervals and the error rates of tests by
simulation.

All random draws have fixed seeds: a failure is caused by a code change. Bounds are the
nominal rate and three standard errors of the simulation.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from writestall.compare import statistics
from writestall.compare.statistics import Array

EDGES = np.linspace(0, 20, 201)


def runs(
    draw: np.random.Generator, count: int, centre: float, size: int = 400
) -> Array:
    """Histograms of runs with different medians, like those of real runs."""
    centres = draw.normal(centre, 1, count)
    counts = [np.histogram(draw.normal(one, 1, size), EDGES)[0] for one in centres]
    return np.array(counts, dtype=np.float64)


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=50),
    st.sampled_from([0.5, 0.9, 0.99, 0.999, 1.0]),
)
def test_a_quantile_is_a_value_that_enough_do_not_exceed(
    latencies: list[int], share: float
) -> None:
    values = np.unique(latencies)
    counts = np.array([latencies.count(value) for value in values], dtype=np.float64)
    found = statistics.quantile(values.astype(np.float64), share)(counts)
    ordered = sorted(latencies)
    assert found == ordered[max(0, int(np.ceil(share * len(ordered) - 1e-9)) - 1)]


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_an_interval_holds_its_value_and_stays_within_the_runs(
    count: int, seed: int
) -> None:
    rows = runs(np.random.default_rng(seed), count, 10)
    statistic = statistics.quantile(EDGES[1:], 0.9)
    found = statistics.estimate(rows, statistic)
    assert found.low is not None and found.high is not None
    assert found.low <= found.high
    own = [float(statistic(row)) for row in rows]
    assert min(own) <= found.low and found.high <= max(own)
    assert min(own) <= found.value <= max(own)


def test_a_single_run_has_no_interval() -> None:
    found = statistics.estimate(np.array([[0.0, 3.0]]), statistics.ratio)
    assert (found.value, found.low, found.high) == (0.0, None, None)


@pytest.mark.parametrize(
    ("count", "least", "most"), [(4, 0.70, 0.90), (16, 0.88, 0.99)]
)
def test_intervals_cover_what_they_promise(
    count: int, least: float, most: float
) -> None:
    """Few runs give less coverage: statistics.most_coverage() is its upper bound."""
    draw, covered, trials = np.random.default_rng(7), 0, 120
    for _ in range(trials):
        found = statistics.estimate(
            runs(draw, count, 10), statistics.quantile(EDGES[1:], 0.5)
        )
        assert found.low is not None and found.high is not None
        covered += found.low - 0.1 <= 10 <= found.high
    assert least <= covered / trials <= most
    assert covered / trials <= statistics.most_coverage(count) + 0.06


def test_a_known_difference_is_found() -> None:
    draw = np.random.default_rng(3)
    found = [
        statistics.difference(draw.normal(10, 1, 5), draw.normal(14, 1, 5)).p
        for _ in range(60)
    ]
    assert np.mean(np.array(found) < statistics.ALPHA) > 0.9


def test_no_difference_is_seldom_found() -> None:
    draw, trials = np.random.default_rng(4), 200
    found = [
        statistics.difference(draw.lognormal(2, 1, 5), draw.lognormal(2, 1, 5)).p
        for _ in range(trials)
    ]
    error = np.sqrt(statistics.ALPHA * (1 - statistics.ALPHA) / trials)
    assert np.mean(np.array(found) < statistics.ALPHA) <= statistics.ALPHA + 3 * error


def test_many_equal_options_are_hardly_ever_told_apart() -> None:
    draw, clear = np.random.default_rng(5), 0
    for _ in range(20):
        options = [draw.normal(10, 1, 4) for _ in range(8)]
        p = [
            statistics.difference(a, b).p
            for a in options
            for b in options
            if a is not b
        ]
        clear += int((statistics.adjusted(np.array(p)) < statistics.ALPHA).any())
    assert clear <= 4


def test_three_runs_a_side_are_too_few_for_any_difference() -> None:
    found = statistics.difference(np.array([1.0, 2, 3]), np.array([1e6, 2e6, 3e6]))
    assert found.p > statistics.ALPHA
    four = statistics.difference(
        np.array([1.0, 2, 3, 2]), np.array([1e6, 2e6, 3e6, 2e6])
    )
    assert four.p < statistics.ALPHA


def test_equal_values_are_never_a_difference() -> None:
    for same in (np.zeros(4), np.full(4, 7.0)):
        found = statistics.difference(same, same)
        assert (found.estimate.value, found.p) == (0.0, 1.0)
        assert statistics.needed(same, same) is None


@pytest.mark.parametrize(("gap", "least", "most"), [(4.0, 4, 6), (1.0, 9, 32)])
def test_so_many_runs_are_needed(gap: float, least: int, most: int) -> None:
    """Published tables for Welch's test: 80 % power at a difference of one standard
    deviation needs 17 runs per side."""
    draw = np.random.default_rng(6)
    found = [
        statistics.needed(draw.normal(10, 1, 8), draw.normal(10 + gap, 1, 8))
        for _ in range(9)
    ]
    middle = sorted(found, key=lambda size: size or 99)[len(found) // 2]
    assert middle is not None and least <= middle <= most


def test_the_same_runs_give_the_same_answer() -> None:
    first, second = np.array([1.0, 5, 2, 8]), np.array([2.0, 9, 3, 7])
    assert statistics.difference(first, second) == statistics.difference(first, second)


@given(st.integers(1, 40))
def test_more_runs_promise_more(count: int) -> None:
    assert statistics.most_coverage(count) < statistics.most_coverage(count + 1) <= 1
