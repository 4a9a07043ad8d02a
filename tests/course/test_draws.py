# SPDX-License-Identifier: GPL-2.0-only
"""This test will draw mysteries from seeds, and count their right answers."""

from __future__ import annotations

import tomllib
from collections import Counter
from functools import cache
from itertools import product

import pytest

import answers_of
from labrun.scenario import reading
from support import PROJECT
from writestall.course import checkout, draw, gradebook, scenario, tables, work
from writestall.course.judge import Given, judge, words
from writestall.course.tables import Lab

LABS = tables.labs()
FEWEST = 4
HUNDRED = [f"student {number}" for number in range(100)]


def name(lab: Lab) -> str:
    return str(lab.number)


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_twenty_seeds_have_at_least_four_right_answers_on_recorded_runs(
    lab: Lab,
) -> None:
    found = {
        (given.holder, given.root, round(given.ms, -2))
        for given in (
            answers_of.right_of(lab.number, seed) for seed in answers_of.SEEDS
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


@cache
def _accepted(number: int, seed: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a lab that are right as the holder, and as the root."""
    facts = answers_of.of_seed(number, seed)
    holders, roots = _words(number)

    def right(part: str, said: str) -> bool:
        return not judge(facts, "call", Given(said, said, 0)).wrong[part]

    return (
        frozenset(said for said in holders if right("holder", said)),
        frozenset(said for said in roots if right("root", said)),
    )


@cache
def _words(number: int) -> tuple[frozenset[str], frozenset[str]]:
    """Whatever names a task, nobody, or a root in some mystery of a lab."""
    every = [answers_of.of_seed(number, seed) for seed in HUNDRED]
    tasks = set().union(*(one.others | one.submitters for one in every))
    named = frozenset().union(*map(words, tasks)) | tables.names().nobody
    return named, named | {str(one.root) for one in every}


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_no_constant_answer_is_right_in_more_than_a_third(lab: Lab) -> None:
    """Holder and root as two fixed words, whatever the mystery is."""
    right = Counter(
        pair for seed in HUNDRED for pair in product(*_accepted(lab.number, seed))
    )
    pair, count = right.most_common(1)[0]
    assert count <= len(HUNDRED) / 3, pair


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_one_delayed_io_is_asked_for_where_it_is_a_wait_of_the_chain(lab: Lab) -> None:
    """And never of a limit, which holds many bios for as long as its budget lasts."""
    for seed in HUNDRED:
        if draw.quantity(lab.number, seed) == "io":
            facts = answers_of.of_seed(lab.number, seed)
            right = facts.ms["io"]
            assert facts.root.who.split()[0] != "cgroup", seed
            assert any(abs(one - right) <= 0.05 * right for one in facts.ends_ms), seed


def test_no_mystery_asks_what_a_page_answers() -> None:
    printed = {gradebook.question(lab.number, "")[:2] for lab in LABS}
    for lab, seed in product(LABS, HUNDRED):
        assert gradebook.question(lab.number, seed)[:2] not in printed


def _known(root: str, roots: tuple[str, ...]) -> bool:
    """Whether a root was taught; that of a cgroup has its name behind."""
    return root in roots or root.split()[0] in roots


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_a_mystery_draws_what_was_taught_by_then(lab: Lab) -> None:
    taught = tables.taught(lab.number)
    assert lab.wait in taught.waits
    assert lab.ms in taught.ms
    for run in lab.recorded:
        for facts in work.clear_of(run).values():
            assert facts.wait.cls in taught.waits, (run, facts.wait.cls)
            assert _known(facts.root.who, taught.roots), (run, facts.root)
    for cause in lab.cause:
        assert _known(cause.who or "cgroup", taught.roots), cause
        stem = cause.scenario.partition(":")[0]
        wanted = tomllib.loads(checkout.scenario(stem).read_text())["expect"]["chain"]
        assert wanted[0] in taught.waits, (cause, wanted)


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_a_lab_s_page_names_the_waits_that_it_teaches(lab: Lab) -> None:
    text = (PROJECT / "docs/course" / lab.page).read_text()
    for wait in lab.teaches.waits:
        assert f"`{wait}`" in text or f" {wait} " in text, wait


@pytest.mark.parametrize("lab", LABS, ids=name)
def test_thirty_names_draw_many_questions(lab: Lab) -> None:
    """A question is a call and a number; the pages say that two may be the same."""
    drawn = {gradebook.question(lab.number, seed) for seed in HUNDRED[:30]}
    assert len(drawn) >= 20, len(drawn)
