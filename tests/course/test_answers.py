# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare each number of the labs' answers with its recorded run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import course_numbers
from course_runs import Run
from support import PROJECT, module
from writestall.course import tables, work
from writestall.course.tables import Lab

PROGRAM = PROJECT / "docs/render-course.py"
# Not of a run: names, labels, places of the page, and blocks that are run.
NO_NUMBER = re.compile(
    r"```.*?```|`[^`]*`|\*\*(?:Prediction )?\d\.\*\*|\(\d\)|[Ll]abs? \d(?: and \d)?"
    r"|\b(?:ext4|f2fs_ckpt|jbd2|p50|p99\.9)\b|slow write in ten thousand|Calls 2 to 5",
    re.S,
)
COUNTS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
NUMBER = re.compile(rf"\b(?:\d[\d.,]*\d|\d|{COUNTS})\b", re.I)
render = module("docs/render-course.py")


def answers(lab: Lab) -> str:
    text = (PROJECT / "docs/course" / lab.page).read_text()
    return text.partition("## Answers\n")[2]


def test_the_numbers_on_the_pages_are_those_of_the_runs() -> None:
    path = os.pathsep.join(str(PROJECT / name) for name in ("base", "analysis"))
    done = subprocess.run(
        [sys.executable, "-B", str(PROGRAM), "--check"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("lab", tables.labs(), ids=lambda lab: str(lab.number))
def test_every_number_of_an_answer_is_rendered(lab: Lab) -> None:
    left = answers(lab)
    for number in course_numbers.NUMBERS:
        if number.lab == lab.number:
            left = render.pattern(number.text).sub("", left)
    left = NO_NUMBER.sub("", left)
    assert not NUMBER.findall(left), [
        left[max(0, one.start() - 60) : one.end() + 20] for one in NUMBER.finditer(left)
    ]


@pytest.mark.parametrize("lab", tables.labs(), ids=lambda lab: str(lab.number))
def test_every_prediction_and_question_is_answered(lab: Lab) -> None:
    page = (PROJECT / "docs/course" / lab.page).read_text()
    for heading, label in (("Predict", "**Prediction {}.**"), ("Questions", "**{}.**")):
        part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        asked = re.findall(r"^(\d)\. ", part, re.M)
        assert asked
        for number in asked:
            assert f"- {label.format(number)}" in answers(lab), (heading, number)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 8])
def test_a_lab_s_own_wait_takes_most_of_the_time(number: int) -> None:
    """Of lab 7 one call does; its run has several ways into the limit."""
    lab = tables.lab(number)
    with tempfile.TemporaryDirectory() as scratch:
        work.unpack(lab.shown, Path(scratch, "run"))
        summary = Run(Path(scratch, "run")).summary
    assert summary["stall_ns_by_class"][lab.wait] > 0.7 * summary["stall_ns"]


def test_a_changed_number_is_put_right(tmp_path: Path) -> None:
    number, values = course_numbers.values()[0]
    page = number.text.replace("{}", "1").replace(" --root", "\n--root")
    text = render._put(f"a {page} b", number, values)
    assert text == f"a {number.text.replace(' --root', chr(10) + '--root')} b".format(
        *values
    )
