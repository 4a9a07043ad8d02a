# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold the band of a curve of quantiles to its promise, and draw it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from test_page_of_comparison import made

import webpage
from comparisons import QUICK, SLOW, comparison, steady
from writestall.compare.curve import band, curves, depth
from writestall.compare.curve_picture import picture
from writestall.compare.folder import open_comparison

POINTS = 6


@pytest.mark.parametrize("rounds", range(8, 41))
def test_the_band_is_the_narrowest_that_is_known_to_hold(rounds: int) -> None:
    at = depth(rounds, POINTS)
    wrong = [2 * POINTS * stats.binom.cdf(k - 1, rounds, 0.5) for k in (at, at + 1)]
    assert wrong[0] <= 0.05 < wrong[1]


def test_too_few_rounds_have_no_band() -> None:
    assert band(np.ones((7, POINTS))) is None


@pytest.mark.parametrize("together", [0.0, 0.95])
@pytest.mark.parametrize("rounds", [8, 20])
def test_all_medians_are_within_the_band(rounds: int, together: float) -> None:
    """Skewed, also where the quantiles of a run move together."""
    draw, held, reps = np.random.default_rng(1), 0, 1000
    for _ in range(reps):
        common, own = draw.normal(size=(rounds, 1)), draw.normal(size=(rounds, POINTS))
        mixed = np.sqrt(together) * common + np.sqrt(1 - together) * own
        found = band(stats.expon.ppf(stats.norm.cdf(mixed)))
        assert found
        held += bool(((found[1] <= np.log(2)) & (np.log(2) <= found[2])).all())
    assert held / reps >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / reps)


def test_an_option_is_over_the_baseline_of_its_round(tmp_path: Path) -> None:
    """Rounds differ by a factor, which both have."""
    base = [steady(*[1.0 + at] * 20) for at in range(8)]
    slow = [steady(*[3.0 + 3 * at] * 20) for at in range(8)]
    runs = {"base": base, "base-again": base, "slow": slow, "few": slow[:7]}
    again, other = curves(open_comparison(comparison(tmp_path / "c", runs)))
    assert (again.option, other.option) == ("base-again", "slow")
    assert (other.baseline, other.rounds) == ("base", 8)
    assert again.factor == pytest.approx(1.0)
    for found in (other.low, other.factor, other.high):
        assert found == pytest.approx(3.0, rel=0.01)
    drawn = picture([again, other])
    assert drawn.one == pytest.approx(100 * np.log(other.high[0]) / np.log(3.75), abs=2)
    assert [label for _, label in drawn.labels] == ["1x", "1.2x", "1.5x", "2x", "3x"]


def test_the_page_draws_what_it_says(tmp_path: Path) -> None:
    path = made(tmp_path / "c", {"slow": SLOW, "quick": QUICK})
    (figure,) = (
        one
        for one in webpage.parsed(path.read_text("utf-8")).all("figure")
        if one.attributes.get("class") == "curve"
    )
    assert figure.one("b").words == "quick"
    line = figure.one("polyline").attributes["points"].split()
    assert len(line) == POINTS
    assert all(0 <= float(one) <= 100 for pair in line for one in pair.split(","))
    assert figure.one("title").words.startswith("p50 ")
