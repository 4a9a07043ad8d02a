# SPDX-License-Identifier: GPL-2.0-only
"""This test will walk all labs on recorded runs, with right and with wrong answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import answers_of
from writestall.cli.main import main
from writestall.course import draw, tables, work
from writestall.course.judge import Given, judge

Capture = pytest.CaptureFixture[str]
LABS = [lab.number for lab in tables.labs()]
SOME = ["", *answers_of.SEEDS[:3]]


def say(out: Path, number: int, given: Given) -> int:
    words = ["--holder", given.holder, "--root", given.root, "--ms", str(given.ms)]
    return main(["course", "answer", str(number), *words, "--out", str(out)])


@pytest.mark.parametrize("number", LABS)
def test_a_lab_is_started_answered_and_reset(
    number: int, tmp_path: Path, capsys: Capture
) -> None:
    lab = tables.lab(number)
    for seed in SOME:
        words = [str(number), "--out", str(tmp_path)]
        drawn = ["--seed", seed] if seed else []
        assert main(["course", "start", *words, *drawn, "--recorded"]) == 0
        place = work.folder(tmp_path, number)
        printed = capsys.readouterr().out
        assert f"--write {work.ask(place).write}" in printed and lab.page in printed
        given = answers_of.right_of(number, seed)
        disk = Given("vdb", "the disk", given.ms)
        assert say(tmp_path, number, disk) == 1
        assert "1 of 3 right, at try 1" in capsys.readouterr().out
        assert say(tmp_path, number, given) == 0
        assert "passed, at try 2" in capsys.readouterr().out
        assert json.loads((place / work.ANSWER).read_text())["seed"] == seed
        assert main(["course", "reset", *words]) == 0
        assert not place.exists()


@pytest.mark.parametrize("number", LABS)
@pytest.mark.parametrize("seed", SOME)
def test_a_wrong_part_is_said_to_be_wrong_and_no_more(number: int, seed: str) -> None:
    quantity = draw.quantity(number, seed)
    facts = answers_of.of_seed(number, seed)
    good = answers_of.right(facts, quantity)
    assert judge(facts, quantity, good).passed
    for case, given in answers_of.wrong(facts, quantity).items():
        judged = judge(facts, quantity, given)
        part = case.split()[0]
        assert judged.right == 2, (case, judged.wrong)
        printed = judged.wrong[part]
        assert printed, case
        # Neither a task, nor who the root is, nor a number is given away.
        given_away = [facts.root.who, f"{good.ms:g}"]
        given_away += [facts.holder.comm, str(facts.holder.tid)] if facts.holder else []
        for word in given_away:
            assert not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", printed), (
                case,
                printed,
            )


@pytest.mark.parametrize("number", LABS)
def test_words_of_the_field_are_understood(number: int) -> None:
    facts = answers_of.of_seed(number, "")
    good = answers_of.right(facts, "root")
    roots = [facts.root.who.upper(), f" {facts.root} (99.2 %)"]
    roots += tables.names().also.get(facts.root.who, ())
    for root in roots:
        given = Given(good.holder, root, good.ms)
        assert judge(facts, "root", given).passed, root


def test_a_number_that_means_something_else_is_recognised() -> None:
    facts = answers_of.of_seed(5, "")
    given = answers_of.right(facts, "io")
    printed = judge(facts, "all", given).wrong["ms"]
    assert printed.startswith("that is how long one delayed I/O of the root takes")


def test_a_task_further_down_the_chain_is_no_holder() -> None:
    facts = answers_of.of_seed(2, "")
    jbd2 = next(task for task in facts.others if task.name == "jbd2")
    given = Given(f"{jbd2.comm}/{jbd2.tid}", "kworker", 0)
    judged = judge(facts, "holder", given)
    assert "does not hold what the call itself waited for" in judged.wrong["holder"]
    assert "it waits, too" in judged.wrong["root"]
