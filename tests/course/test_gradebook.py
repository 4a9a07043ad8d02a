# SPDX-License-Identifier: GPL-2.0-only
"""This test will grade a class: recorded runs, a machine's run, and bad answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import answers_of
from writestall.cli.main import main
from writestall.course import checkout, draw, gradebook, scenario, tables, work
from writestall.course.work import Handed

Capture = pytest.CaptureFixture[str]


def hand_in(place: Path, number: int, seed: str, recorded: bool = True) -> Handed:
    """Write the right answer to a recorded run as a student's folder has it."""
    given = answers_of.right_of(number, seed)
    handed = Handed(number, seed, recorded, given.holder, given.root, given.ms)
    place.mkdir(parents=True, exist_ok=True)
    work.write(place / work.ANSWER, handed)
    return handed


def graded(folder: Path, capsys: Capture) -> dict[str, dict[str, object]]:
    assert main(["course", "grade", str(folder), "--json"]) == 0
    return {row["answer"]: row for row in json.loads(capsys.readouterr().out)}


def test_each_answer_is_judged_from_the_run_of_its_seed(
    tmp_path: Path, capsys: Capture
) -> None:
    hand_in(tmp_path / "anna/2", 2, "anna")
    handed = hand_in(tmp_path / "ben/2", 2, "ben")
    handed.root = "the disk"
    work.write(tmp_path / "ben/2" / work.ANSWER, handed)
    handed = hand_in(tmp_path / "cleo", 5, "cleo")
    (tmp_path / "cleo" / work.ANSWER).rename(tmp_path / f"cleo-{work.ANSWER}")
    rows = graded(tmp_path, capsys)
    assert rows["anna/2"]["points"] == 3
    assert rows["ben/2"]["marks"] == {"holder": "right", "root": "wrong", "ms": "right"}
    assert rows[f"cleo-{work.ANSWER}"]["points"] == 3
    assert main(["course", "grade", str(tmp_path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "answer lab seed holder root ms chain points tries".split()
    assert lines[1] == "anna/2 2 anna right right right - 3/3 1".split()


def test_an_answer_to_another_seed_is_no_answer(
    tmp_path: Path, capsys: Capture
) -> None:
    """Copied from a neighbour, with the own seed written into it."""
    handed = hand_in(tmp_path / "anna", 4, answers_of.SEEDS[0])
    other = next(
        seed
        for seed in answers_of.SEEDS
        if answers_of.of_seed(4, seed).root != answers_of.of_seed(4, handed.seed).root
    )
    handed.seed = other
    work.write(tmp_path / "anna" / work.ANSWER, handed)
    row = graded(tmp_path, capsys)["anna"]
    assert isinstance(row["points"], int) and row["points"] < 3


def test_one_seed_twice_is_remarked(tmp_path: Path, capsys: Capture) -> None:
    for name in ("anna", "ben"):
        hand_in(tmp_path / name, 1, "same")
    for row in graded(tmp_path, capsys).values():
        assert row["why"] == "its seed was handed in more than once"


def test_one_question_of_two_seeds_is_remarked(tmp_path: Path, capsys: Capture) -> None:
    seen: dict[tuple[str, int, str], str] = {}
    for number in range(200):
        other = seen.setdefault(gradebook.question(1, f"s{number}"), f"s{number}")
        if other != f"s{number}":
            break
    for seed in (other, f"s{number}", "anna"):
        hand_in(tmp_path / seed, 1, seed)
    rows = graded(tmp_path, capsys)
    assert rows[other]["why"] == rows[f"s{number}"]["why"]
    assert rows[other]["why"] == "another seed drew the same question"
    assert rows["anna"]["why"] == "" and rows[other]["points"] == 3


def test_a_machine_s_run_must_be_there_and_of_the_seed(
    tmp_path: Path, capsys: Capture
) -> None:
    """A recorded run with the scenario that a seed draws stands for a machine's."""
    seed = next(
        seed
        for seed in answers_of.SEEDS
        if draw.draw(tables.lab(2), seed).recorded == "page-lock-7.2"
    )
    for name in ("good", "other", "none"):
        hand_in(tmp_path / name, 2, seed, recorded=False)
    for name in ("good", "other"):
        run = tmp_path / name / "20260102-page-lock"
        work.unpack("page-lock-7.2", run)
        manifest = json.loads((run / "manifest.json").read_text())
        drawn = draw.draw(tables.lab(2), seed if name == "good" else "another")
        manifest["scenario"] |= scenario.table(drawn)
        (run / "manifest.json").write_text(json.dumps(manifest))
    rows = graded(tmp_path, capsys)
    assert rows["good"]["points"] == 3, rows
    assert "its run is not what its seed draws" in str(rows["other"]["why"])
    assert "hand in the whole folder" in str(rows["none"]["why"])
    assert rows["none"]["points"] == rows["other"]["points"] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    {
        "{}": "missing required field",
        "not JSON": "invalid",
        '{"lab": 99, "seed": "a", "recorded": true, "holder": "a", "root": "b", "ms":'
        " 1}": "there are labs 1 to 8",
    }.items(),
)
def test_what_is_no_answer_is_a_row_that_says_so(
    text: str, why: str, tmp_path: Path, capsys: Capture
) -> None:
    hand_in(tmp_path / "anna", 1, "anna")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / work.ANSWER).write_text(text)
    rows = graded(tmp_path, capsys)
    assert why in str(rows["bad"]["why"])
    assert rows["bad"]["points"] == 0 and rows["anna"]["points"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    {
        "start 9 --recorded": "lab 9: there are labs 1 to 8",
        "start 1 --recorded --kernel 7.2": "--kernel: a recorded run has its own",
        "answer 1 --holder a --root b --ms 1": "not begun; ./writestall course start",
        "answer 1 --holder a --root b": "--ms",
        "start 1 --recorded --seed \udcff": "want printable text",
        "answer 1 --holder a --root b --ms 1,5": "'1,5': want milliseconds, as 1.5",
        f"start 1 --recorded --seed {'s' * 101}": "want at most 100 characters",
        "reset 1": "no work on lab 1 there",
        "start 1 --recorded --seed=": "argument --seed: want a word, and this is empty",
        "answer 1 --holder= --root b --ms 1": "argument --holder: want a word",
        "answer 1 --holder a --root= --ms 1": "argument --root: want a word",
    }.items(),
)
def test_a_mistake_is_reported_in_one_line(
    words: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["course", *words.split(), "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert message in shown.err and len(shown.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_answers_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert main(["course", "grade", str(tmp_path)]) == 2
    assert "no answer.json below it" in capsys.readouterr().err


def test_nothing_is_started_twice_and_nothing_else_is_deleted(
    tmp_path: Path, capsys: Capture
) -> None:
    words = ["1", "--out", str(tmp_path)]
    assert main(["course", "start", *words, "--recorded"]) == 0
    assert main(["course", "start", *words, "--recorded"]) == 2
    assert "begun already; ./writestall course reset 1" in capsys.readouterr().err
    (tmp_path / "course/2").mkdir()
    (tmp_path / "course/2/mine").write_text("kept")
    assert main(["course", "reset", "2", "--out", str(tmp_path)]) == 2
    assert (tmp_path / "course/2/mine").exists()


def test_the_package_alone_says_that_it_needs_a_checkout(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lib/writestall"
    shutil.copytree(checkout.PACKAGE / "course", package / "course")
    monkeypatch.setattr(checkout, "PACKAGE", package)
    assert main(["course", "list"]) == 0
    words = ["1", "--recorded", "--out", str(tmp_path)]
    assert main(["course", "start", *words]) == 2
    assert (
        "need a clone of the tree, where you run ./writestall course"
        in capsys.readouterr().err
    )
    assert not list(tmp_path.glob("course/*"))


def answered(out: Path, number: int, **parts: object) -> int:
    """Answer a lab on a recorded run; the status of the command."""
    words = [f"--{part}={value}" for part, value in parts.items()]
    return main(["course", "answer", str(number), *words, "--out", str(out)])


def test_a_pass_is_kept_and_tries_survive_a_reset(
    tmp_path: Path, capsys: Capture
) -> None:
    lab = [str(2), "--out", str(tmp_path)]
    start = ["course", "start", *lab, "--seed", "anna", "--recorded"]
    good = answers_of.right_of(2, "anna")
    right = {"holder": good.holder, "root": good.root, "ms": good.ms}
    assert main(start) == 0
    assert answered(tmp_path, 2, **right | {"ms": 0}) == 1
    assert main(["course", "reset", *lab]) == 0
    assert main(start) == 0
    assert answered(tmp_path, 2, **right) == 0
    assert "passed, at try 2" in capsys.readouterr().out
    assert answered(tmp_path, 2, **right | {"root": "the disk"}) == 1
    assert "the answer of try 2 passed, and is kept" in capsys.readouterr().out
    kept = work.read(work.folder(tmp_path, 2) / work.ANSWER, Handed)
    assert kept.given == good and kept.tries == 2
