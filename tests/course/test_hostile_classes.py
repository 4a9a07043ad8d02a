# SPDX-License-Identifier: GPL-2.0-only
"""This test will grade folders that students made to stop, slow or mislead it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import answers_of
import classes
from support import PROJECT
from writestall.cli.main import main
from writestall.course import bounded, gradebook, tables, work
from writestall.course.work import Handed
from writestall_base.errors import UserError

Capture = pytest.CaptureFixture[str]
# A grader that waits for what never comes is ended then; no time is asserted.
GUARD_S = 300


def hand_in(place: Path, number: int, seed: str) -> None:
    given = answers_of.right_of(number, seed)
    place.mkdir(parents=True, exist_ok=True)
    handed = Handed(number, seed, True, given.holder, given.root, given.ms)
    work.write(place / work.ANSWER, handed)


def graded(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, so that what hangs or eats memory fails."""
    program = str(PROJECT / "writestall")
    return subprocess.run(
        [sys.executable, "-B", program, "course", "grade", str(folder), *words],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=GUARD_S,
        check=False,
    )


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    done = graded(folder, "--json")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return {row["answer"].split("/")[0]: row for row in json.loads(done.stdout)}


@pytest.mark.parametrize("name", classes.HOSTILE)
def test_a_hostile_folder_is_its_student_s_row(name: str, tmp_path: Path) -> None:
    make, why = classes.HOSTILE[name]
    folder = tmp_path / "class"
    hand_in(folder / "aaron/2", 2, "aaron")
    (folder / name).mkdir()
    make(folder / name)
    hand_in(folder / "zoe/2", 2, "zoe")
    found = rows(folder)
    assert why in found[name]["why"], found[name]["why"]
    assert found[name]["points"] == 0
    assert found["aaron"]["points"] == found["zoe"]["points"] == 3
    shown = graded(folder)
    assert shown.returncode == 0 and shown.stderr == ""
    assert all(len(line) < 400 for line in shown.stdout.splitlines())


def test_links_in_the_class_are_not_followed(tmp_path: Path) -> None:
    hand_in(tmp_path / "outside", 2, "outside")
    hand_in(tmp_path / "class/anna", 2, "anna")
    (tmp_path / "class/ben").symlink_to(tmp_path / "outside")
    found = rows(tmp_path / "class")
    assert "a symbolic link" in found["ben"]["why"] and found["ben"]["points"] == 0
    assert found["anna"]["points"] == 3


def test_a_thousand_drawn_folders_are_a_thousand_rows(
    tmp_path: Path, capsys: Capture
) -> None:
    """Drawn in one go: a class is graded in one process."""
    drawn: list[Any] = []

    @settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(classes.FOLDERS, min_size=100, max_size=100))
    def draw(some: list[Any]) -> None:
        drawn.extend(some)

    while len(drawn) < 1000:
        draw()
    for number, one in enumerate(drawn):
        classes.make(tmp_path / f"s{number}", one)
    assert main(["course", "grade", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    students = {row["answer"].split("/")[0] for row in found}
    assert students == {f"s{number}" for number in range(len(drawn))}
    assert main(["course", "grade", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.isprintable()] == []
    assert len(found) >= 1000


def test_a_recorded_run_is_read_once_for_a_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(240):
        lab = tables.labs()[number % 8].number
        hand_in(tmp_path / f"s{number}", lab, f"student {number}")
    read: Counter[str] = Counter()
    unpack = work.unpack

    def counted(name: str, to: Path) -> None:
        read[name] += 1
        unpack(name, to)

    monkeypatch.setattr(work, "unpack", counted)
    work.clear_of.cache_clear()
    found = gradebook.rows(tmp_path)
    assert len(found) == 240 and all(row.points == 3 for row in found)
    assert set(read.values()) == {1}, read


@pytest.mark.parametrize(
    ("does", "why"),
    {
        lambda: bytearray(2 * bounded.MOST_BYTES): "cannot be judged: MemoryError",
        lambda: os.kill(os.getpid(), signal.SIGKILL): "was killed",
        lambda: time.sleep(GUARD_S): "not judged within 1 s",
        lambda: dict[str, int]()["scenario"]: "cannot be judged: KeyError",
    }.items(),
)
def test_what_a_run_does_to_its_reader_ends_there(
    does: Callable[[], object], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "1 s" in why:
        monkeypatch.setattr(bounded, "MOST_S", 1)
    with pytest.raises(UserError, match=why):
        bounded.call(does)
