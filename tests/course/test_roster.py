# SPDX-License-Identifier: GPL-2.0-only
"""This test will make the folder of a class, and grade it by its roster."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import answers_of
from writestall.cli.main import main
from writestall.course import roster, work
from writestall.course.work import Handed

Capture = pytest.CaptureFixture[str]
NAMES = ["anna", "ben", "Zoë van der Berg"]


def made(tmp_path: Path, *words: str) -> Path:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "names.txt").write_text("\n".join([*NAMES, "", ""]), encoding="utf-8")
    folder = tmp_path / "class"
    names = str(tmp_path / "names.txt")
    assert main(["course", "class", names, str(folder), *words]) == 0
    return folder


def hand_in(place: Path, number: int, seed: str, **changes: str) -> None:
    given = answers_of.right_of(number, seed)
    handed = Handed(number, seed, True, given.holder, given.root, given.ms)
    for key, value in changes.items():
        setattr(handed, key, value)
    place.mkdir(parents=True)
    work.write(place / work.ANSWER, handed)


def test_a_class_has_a_folder_and_a_seed_for_each_name(tmp_path: Path) -> None:
    folder = made(tmp_path)
    assert {path.name for path in folder.iterdir()} == {*NAMES, roster.FILE}
    assert roster.read(folder) == {name: name for name in NAMES}
    keyed = roster.read(made(tmp_path / "keyed", "--key", "of the teacher"))
    assert set(keyed) == set(NAMES) and all(
        seed.startswith(f"{name}-") for name, seed in keyed.items()
    )
    other = roster.read(made(tmp_path / "other", "--key", "another"))
    assert not set(keyed.values()) & set(other.values())


def test_grade_goes_by_the_roster(tmp_path: Path, capsys: Capture) -> None:
    folder = made(tmp_path)
    hand_in(folder / "anna/2", 2, "anna")
    hand_in(folder / "anna/3", 3, "anna", root="the disk")
    hand_in(folder / "ben/2", 2, "a seed that is easy")
    hand_in(folder / "carl/2", 2, "carl")
    (folder / NAMES[2]).rmdir()
    capsys.readouterr()
    assert main(["course", "grade", str(folder), "--json"]) == 0
    rows = {row["answer"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ben/2"]["why"] == "its seed is not that of the roster: ben"
    assert rows["ben/2"]["points"] == 0 and rows["anna/2"]["points"] == 3
    assert rows["carl/2"]["why"] == "not on the roster"
    assert rows[NAMES[2]]["why"] == "nothing was handed in"
    assert main(["course", "grade", str(folder)]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["anna", "2", "5/6"] in shown and ["ben", "1", "0/3"] in shown


def test_a_spreadsheet_gets_one_row_an_answer(tmp_path: Path, capsys: Capture) -> None:
    folder = made(tmp_path)
    hand_in(folder / "anna/2", 2, "anna")
    hand_in(folder / "=cmd/2", 2, "=1+1")
    capsys.readouterr()
    assert main(["course", "grade", str(folder), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    anna = next(row for row in rows if row["answer"] == "anna/2")
    assert (anna["points"], anna["of"], anna["root"]) == ("3", "3", "right")
    assert (anna["student"], anna["student_points"]) == ("anna", "3")
    assert not [
        cell for row in rows for cell in row.values() if cell.startswith(tuple("=+@"))
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    {
        "a/b": "no name of a folder",
        "anna\nanna": "twice",
        "..": "no name of a folder",
        "": "no names",
        "x" * 101: "at most 100",
    }.items(),
)
def test_names_that_cannot_be_folders_are_refused(
    names: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "names.txt").write_text(names)
    words = [str(tmp_path / "names.txt"), str(tmp_path / "class")]
    assert main(["course", "class", *words]) == 2
    shown = capsys.readouterr().err
    assert message in shown and len(shown.splitlines()) == 1
    assert not (tmp_path / "class").exists()


def test_predictions_come_before_the_lab_and_with_its_answer(
    tmp_path: Path, capsys: Capture
) -> None:
    place = ["--out", str(tmp_path / "out")]
    predict = ["course", "predict", "2", *place]
    assert main([*predict, "=1: yes,\non  a page lock"]) == 0
    assert main([*predict, "another"]) == 2
    said = "lab 2: predicted already: =1: yes, on a page lock\n"
    assert capsys.readouterr().err.endswith(said)
    seed = ["--seed", "anna", "--recorded"]
    assert main(["course", "start", "2", *seed, *place]) == 0
    given = answers_of.right_of(2, "anna")
    words = ["--holder", given.holder, "--root", given.root, "--ms", str(given.ms)]
    assert main(["course", "answer", "2", *words, *place]) == 0
    (tmp_path / "class").mkdir()
    work.folder(tmp_path / "out", 2).rename(tmp_path / "class/anna")
    capsys.readouterr()
    assert main(["course", "grade", str(tmp_path / "class"), "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["prediction"] == "'=1: yes, on a page lock"
    assert main(["course", "start", "3", *seed, *place]) == 0
    assert main(["course", "predict", "3", *place, "late"]) == 2
    assert capsys.readouterr().err.endswith("a prediction comes before it\n")
