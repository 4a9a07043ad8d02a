# SPDX-License-Identifier: GPL-2.0-only
"""This test will draw mysteries from seeds, and count their right answers."""

from __future__ import annotations

import pytest

import answers_of
from labrun.scenario import reading
from writestall.course import checkout, draw, scenario, tables
from writestall.course.tables import Lab

LABS = tables.labs()
FEWEST = 4


def name(lab: Lab) -> str:
    return str(lab.number)


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_twenty_seeds_have_at_least_four_right_answers_on_recorded_runs(
    lab: Lab,
) -> None:
    found = {
        (given.holder, given.root, round(given.ms, -2))
        for given in (
            answers_of.right(answers_of.of_seed(lab.number, seed), lab.ms)
            for seed in answers_of.SEEDS
        )
    }
    assert len(found) >= FEWEST, found


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_twenty_seeds_have_at_least_four_causes_in_machines(lab: Lab) -> None:
    """Who is slow, on which file system, and for how long each time."""
    causes = set()
    for seed in answers_of.SEEDS:
        drawn = draw.draw(lab, seed)
        made = scenario.table(drawn)
        delays = tuple(rule["delay_us"] for rule in made.get("inject", []))
        limited = drawn.cause.groups, drawn.wbps
        who = drawn.cause.who or drawn.cause.groups[-1]
        causes.add((who, made["filesystem"]["type"], delays, limited))
    assert len(causes) >= FEWEST, causes


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_a_mystery_is_a_scenario_that_says_nothing_of_its_cause(lab: Lab) -> None:
    for seed in answers_of.SEEDS:
        drawn = draw.draw(lab, seed)
        text = scenario.text(drawn)
        read = reading.parse(text, "mystery.toml", scenario.NAME)
        assert read.name == scenario.NAME and read.seed == drawn.injector_seed
        assert read.expect and read.expect.chain == ()
        assert text.count("#") == 1  # no comment of the cause's file


def test_every_cause_and_every_recorded_run_is_drawn_by_some_seed() -> None:
    for lab in LABS:
        drawn = [draw.draw(lab, str(number)) for number in range(200)]
        assert {one.cause for one in drawn} == set(lab.cause)
        assert {one.recorded for one in drawn} == set(lab.recorded)


def test_a_seed_draws_the_same_everywhere() -> None:
    drawn = draw.draw(tables.lab(3), "anna")
    assert drawn == draw.draw(tables.lab(3), "anna")
    assert drawn != draw.draw(tables.lab(3), "Anna")
    assert drawn.injector_seed == 718905094


def test_what_the_tables_name_is_there() -> None:
    for lab in LABS:
        assert checkout.scenario(lab.scenario.partition(":")[0]).is_file()
        assert lab.shown in lab.recorded
        assert all(checkout.recorded(run).is_dir() for run in lab.recorded)
