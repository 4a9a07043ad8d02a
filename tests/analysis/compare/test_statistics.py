# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold intervals and tests to what theory says of them.

All random draws have fixed seeds: a failure is caused by a code change. Error rates on
models of stalls are in test_error_rates.py.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from writestall.compare import statistics
from writestall.compare.planned import level
from writestall.compare.statistics import Array
from writestall_base import designs

VALUES = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=50),
    st.sampled_from([0.5, 0.9, 0.99, 0.999, 1.0]),
)
def test_a_quantile_is_a_value_that_enough_do_not_exceed(
    latencies: list[int], share: float
) -> None:
    values = np.unique(latencies)
    counts = np.array([latencies.count(value) for value in values], dtype=np.float64)
    found = statistics.quantile(values.astype(np.float64), counts, share)
    ordered = sorted(latencies)
    assert found == ordered[max(0, int(np.ceil(share * len(ordered) - 1e-9)) - 1)]


@given(VALUES)
def test_a_median_has_its_interval_around_it(values: list[int]) -> None:
    found = statistics.median(np.array(values, dtype=np.float64))
    assert found.value == np.median(values)
    if len(values) < designs.LEAST_RUNS:
        assert (found.low, found.high, found.confidence) == (None, None, None)
        return
    assert found.low is not None and found.high is not None
    assert min(values) <= found.low <= found.value <= found.high <= max(values)
    assert found.confidence == (0.9375 if len(values) == 5 else 0.95)


def test_runs_that_do_not_count_are_left_out() -> None:
    whole = np.array([3.0, 1, 4, 1, 5, 9])
    holed = np.insert(whole, 2, np.nan)
    assert statistics.median(holed) == statistics.median(whole)
    assert statistics.bounds(holed, 0.05) == statistics.bounds(whole, 0.05)


def test_a_factor_of_nothing_is_infinite_and_no_error() -> None:
    found = statistics.median(np.array([1.0, 2, 2, np.inf, np.inf, np.inf, np.inf]))
    assert (found.value, found.high) == (np.inf, np.inf)
    assert found.low is not None and found.low < 2


@pytest.mark.parametrize("count", [5, 6, 7, 8, 9, 12, 20, 21, 50])
@pytest.mark.parametrize("law", ["normal", "pareto", "uniform", "cauchy"])
def test_intervals_cover_what_they_say(count: int, law: str) -> None:
    """Within 1.5 points of the stated confidence, whatever the distribution."""
    of = {"normal": stats.norm, "pareto": stats.pareto(1.5)}
    of |= {"uniform": stats.uniform, "cauchy": stats.cauchy}
    law_of = of[law]
    drawn = law_of.rvs(size=(20_000, count), random_state=np.random.default_rng(count))
    low, high, confidence = statistics.interval(np.sort(drawn, axis=1))
    true = law_of.ppf(0.5)
    assert np.mean((low <= true) & (true <= high)) == pytest.approx(
        confidence, abs=0.015
    )


@given(st.integers(1, 60), st.sampled_from([0.05, 0.005, 0.001]))
def test_a_bound_is_wrong_as_rarely_as_it_says(count: int, tail: float) -> None:
    """The chance that a median is below the lower bound is that of so many heads."""
    low, high = statistics.bounds(np.arange(count, dtype=np.float64), tail)
    if low is None:
        assert 0.5**count > tail
        return
    assert high == count - 1 - low
    assert stats.binom.cdf(low, count, 0.5) <= tail
    assert stats.binom.cdf(low + 1, count, 0.5) > tail


def test_a_mean_is_seldom_said_to_exceed_what_it_is() -> None:
    """One run in a hundred is bad, and makes the mean: the limit."""
    draw, wrong, trials = np.random.default_rng(1), 0, 4000
    for _ in range(trials):
        values = np.where(draw.random(20) < 0.01, 0.5, 0.0)
        wrong += statistics.mean_exceeds(values, 0.005, 0.05)
    assert wrong / trials <= 0.05
    bad = np.array([0.5, 0, 0, 0.5, 0, 0, 0, 0])
    assert statistics.mean_exceeds(bad, 0.001, 0.01)
    assert not statistics.mean_exceeds(np.full(8, 0.001), 0.001, 0.01)
    assert not statistics.mean_exceeds(np.array([np.nan]), 0.001, 0.01)


@given(st.lists(st.integers(-40, 40), min_size=3, max_size=12, unique_by=abs))
@settings(max_examples=40)
def test_two_runs_a_round_are_wilcoxons_signed_rank_test(gaps: list[int]) -> None:
    values = np.array([gap for gap in gaps if gap] or [1], dtype=np.float64)
    found = statistics.within_rounds(np.array([values, np.zeros_like(values)]))
    wanted = stats.wilcoxon(values, method="exact")
    assert found.p == pytest.approx(min(1.0, wanted.pvalue))


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=2, max_size=5))
@settings(max_examples=40)
def test_all_permutations_of_three_runs_are_counted(
    rows: list[tuple[int, ...]],
) -> None:
    """Also with ties: every choice of a run in each round."""
    block = np.array(rows, dtype=np.float64).T
    each = statistics.scores(block)
    sums = np.array([sum(one) for one in product(*each.T)])
    seen = each[0].sum()
    wanted = 2 * min(np.mean(sums >= seen), np.mean(sums <= seen))
    found = statistics.within_rounds(block)
    assert found.p == pytest.approx(min(1.0, float(wanted)))
    assert found.sign == np.sign(seen)


def test_a_round_that_is_worse_for_all_decides_nothing() -> None:
    """What differs from round to round, but not within, is no difference."""
    rounds = np.array([1.0, 5, 2, 80, 3, 40, 9, 7])
    assert statistics.within_rounds(np.array([rounds] * 3)).p == 1.0
    block = np.array([1.02 * rounds, rounds, 0.99 * rounds])
    assert statistics.within_rounds(block).p == pytest.approx(2 / 3**8)


@pytest.mark.parametrize("rows", [2, 3])
def test_many_rounds_are_judged_alike(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The normal distribution takes over where permutations are too many to count."""
    block = np.random.default_rng(5).lognormal(size=(rows, statistics.MOST_EXACT))
    block[0] *= 1.3
    exact = statistics.within_rounds(block)
    monkeypatch.setattr(statistics, "MOST_EXACT", 8)
    assert statistics.within_rounds(block).p == pytest.approx(exact.p, rel=0.05)
    assert statistics.within_rounds(np.ones((rows, 9))).p == 1.0


def test_holms_adjustment_is_the_textbooks() -> None:
    found = statistics.holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(statistics.holm(np.array([]))) == 0


@pytest.mark.parametrize(
    ("pairs", "columns", "least"),
    [(1, 2, 8), (1, 3, 6), (7, 3, 6), (13, 3, 6), (7, 2, 9)],
)
def test_fewer_rounds_cannot_show_even_a_perfect_difference(
    pairs: int, columns: int, least: int
) -> None:
    """The smallest p there is, of a run that is always the worst of its round."""
    assert designs.least_rounds(pairs, columns, designs.PLANNED) == least
    for rounds in (least - 1, least):
        block = np.arange(rounds) + np.arange(columns)[::-1, None] * 100.0
        p = statistics.within_rounds(block).p
        assert p == pytest.approx(2 / columns**rounds)
        clear = designs.is_clear(p, min(1.0, pairs * p), designs.PLANNED)
        assert clear == (rounds == least)


def test_all_looks_spend_what_there_is() -> None:
    planned, added = (8, 12, 16), (20, 24, 40)
    parts = [level(rounds, planned, added) for rounds in (*planned, *added)]
    assert sum(parts) < 1
    assert level(9, planned, added) == 0
    assert level(8, [8]) == designs.PLANNED
    every: Array = np.array([level(n, [8], range(9, 60)) for n in range(8, 60)])
    assert every.sum() == pytest.approx(1)
