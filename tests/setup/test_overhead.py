# SPDX-License-Identifier: GPL-2.0-only
"""This test will check which runs the table of overheads excludes, and why."""

from __future__ import annotations

from typing import Any

from driver import overhead

RATES = {"all": 90.0, "median": 80.0, "fastest": 70.0}
ROUND = {"traced": RATES, "untraced": dict.fromkeys(RATES, 100.0)}


def row(**fields: Any) -> list[str]:
    given = {"version": "1.0", "rounds": [ROUND] * 3, "names_file": True, "silent": 0}
    return overhead.tracer_row("peer", given | fields)


def test_shares_are_medians_of_the_rounds() -> None:
    shares = [f"{share} ({share} to {share})" for share in ("0.900", "0.800", "0.700")]
    assert row() == ["peer 1.0", "yes", *shares]


def test_stalls_that_were_not_reported_are_counted() -> None:
    name = "peer 1.0; 2 of 5 stalled writes not reported, left out"
    assert row(silent=2) == [name, *row()[1:]]


def test_one_that_never_reported_is_not_measured() -> None:
    assert row(rounds=[], silent=5)[2].startswith("not measured: it reported no write")


def test_one_that_could_not_run_says_why() -> None:
    assert row(reason="not installed: x")[2] == "not measured: not installed: x"
