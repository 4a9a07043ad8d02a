# SPDX-License-Identifier: GPL-2.0-only
"""This test will simulate comparisons whose truth is known (simulate.py, in short).

Draws have fixed seeds. A bound is the promised rate and three standard errors.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import simulate

from run_models import OVER, P999

REPS = 300


def most(rate: float, reps: int = REPS) -> float:
    """The promised rate and three standard errors, in percent."""
    return 100 * (rate + 3 * float(np.sqrt(rate * (1 - rate) / reps)))


def mean(key: str, one: partial[simulate.Row], reps: int = REPS) -> float:
    return 100 * float(np.mean([one(seed)[key] for seed in range(reps)]))


LONG = pytest.mark.on_demand("make test simulates 2 options, and 8 of one model")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        *(("stall", 2), ("stall", 8), ("common", 2), ("rare", 2)),
        *(pytest.param(model, 8, marks=LONG) for model in ("common", "rare")),
        *(pytest.param(model, 14, marks=LONG) for model in ("stall", "common", "rare")),
    ],
)
def test_equal_options_are_seldom_separated(model: str, options: int) -> None:
    one = partial(
        simulate.once, model=model, options=options, rounds=8, scale=1.0, measure=OVER
    )
    assert mean("false", one) <= most(0.05)
    assert mean("void", one) <= most(0.01)


@pytest.mark.parametrize("spread", [0.0, pytest.param(0.1, marks=LONG), 1.0])
def test_two_boots_of_a_kernel_are_no_difference(spread: float) -> None:
    one = partial(simulate.booted, spread=spread, apart=True)
    assert mean("false", one) <= most(0.01)
    assert mean("void", one) <= most(0.01)


@pytest.mark.parametrize(("model", "scale"), [("stall", 1.1), ("mixed", 1.1)])
def test_a_slower_option_is_hardly_ever_called_faster(model: str, scale: float) -> None:
    one = partial(
        simulate.once, model=model, options=2, rounds=12, scale=scale, measure=P999
    )
    assert mean("wrong", one) <= most(0.005)


def test_twice_as_long_stalls_are_found_in_eight_rounds_of_eight_options() -> None:
    one = partial(
        simulate.once, model="common", options=8, rounds=8, scale=2.0, measure=OVER
    )
    assert mean("found", one, 100) >= 80


@pytest.mark.parametrize("model", ["stall", "mixed"])
def test_intervals_of_options_and_differences_cover_the_truth(model: str) -> None:
    true = simulate.truth(model, P999, 50_000)
    one = partial(simulate.covered, model=model, rounds=8, measure=P999, true=true)
    for key in ("option", "difference", "ratio"):
        assert 95 - 3.8 <= mean(key, one) <= 95 + 3.8


def test_the_rounds_that_a_comparison_names_find_the_effect() -> None:
    one = partial(simulate.planned, model="mixed", options=8, effect=2.0, measure=P999)
    rows = [one(seed) for seed in range(60)]
    assert all(row["named"] for row in rows)
    assert np.mean([row["found"] for row in rows]) >= 0.8 - 3 * 0.052


@pytest.mark.parametrize("options", [2, pytest.param(8, marks=LONG)])
def test_looking_often_is_no_way_to_a_false_difference(options: int) -> None:
    one = partial(simulate.grown, model="stall", options=options)
    assert mean("false", one, 150) <= most(0.05, 150)


def test_an_objective_that_is_missed_seldom_passes() -> None:
    true = simulate.truth("common", OVER, 50_000)["option"]
    one = partial(simulate.judged, model="common", rounds=9, true=true)
    assert mean("false PASS", one, 150) <= most(0.05, 150)
