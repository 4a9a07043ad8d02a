# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold the lessons to one screen, plain probes and a complete header."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from support import PROJECT

FOLDERS = {"stap/lessons": ".stp", "bpf/lessons": ".bt"}
LESSONS = sorted(
    path
    for folder in FOLDERS
    for path in (PROJECT / folder).iterdir()
    if path.is_file()
)
MAX_BODY_LINES = 40
MAX_COLUMNS = 88
MAX_HEADER_LINES = 32
SECTIONS = ("RUN", "READ", "LIMITS")
COMMAND = re.compile(r"^//   ((?:stap|bpftrace) .*)$", re.M)
# Embedded C, and what gives a script more than tapset and tracepoint probes.
NOT_PLAIN = re.compile(r"%\{|^#include|^import |\bconfig =|@const\(", re.M)
# Every map is emptied where its key's event ends, or when the script ends.
BPF_MAP = re.compile(r"(@\w+)(?:\[[^]]*\])? = (?!count|hist|sum)")


def parts(path: Path) -> tuple[list[str], list[str]]:
    """Header and body of a lesson; blank lines and comments are not of the body."""
    lines = path.read_text().splitlines()
    end = next(n for n, line in enumerate(lines) if not line.startswith(("//", "#!")))
    body = [line for line in lines[end:] if line.strip()]
    return lines[:end], [line for line in body if not line.startswith("//")]


@pytest.fixture(params=LESSONS, ids=lambda path: path.name)
def lesson(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_each_question_has_a_lesson_in_both_languages() -> None:
    asked = [
        {path.stem for path in LESSONS if path.parent == PROJECT / folder}
        for folder in FOLDERS
    ]
    assert asked[0] == asked[1] and len(asked[0]) == len(LESSONS) / 2 >= 6
    assert all(path.suffix == FOLDERS[f"{path.parts[-3]}/lessons"] for path in LESSONS)


def test_the_body_fits_on_a_screen(lesson: Path) -> None:
    header, body = parts(lesson)
    assert len(body) <= MAX_BODY_LINES
    assert len(header) <= MAX_HEADER_LINES
    wide = [
        x for x in lesson.read_text().splitlines() if len(x.expandtabs(8)) > MAX_COLUMNS
    ]
    assert not wide


def test_the_header_is_complete(lesson: Path) -> None:
    header = "\n".join(parts(lesson)[0])
    assert re.search(rf"^// {re.escape(lesson.name)}: .*\?$", header, re.M)
    assert re.findall(r"^// ([A-Z]+)(?: \(|$)", header, re.M) == list(SECTIONS)


def test_its_command_is_the_engine_s_own(lesson: Path) -> None:
    commands = [shlex.split(line) for line in COMMAND.findall(lesson.read_text())]
    name = str(lesson.relative_to(PROJECT))
    assert commands[0][1:] == [name]
    assert commands[0][0] == {".stp": "stap", ".bt": "bpftrace"}[lesson.suffix]
    for words in commands:
        assert name in words and not {"-g", "-I", "--unsafe"} & set(words)
        for word in words:  # an option sets a variable of the script
            if "=" in word:
                assert re.search(
                    rf"\b{word.lstrip('-').partition('=')[0]}\b",
                    "\n".join(parts(lesson)[1]),
                )


def test_its_probes_are_plain(lesson: Path) -> None:
    assert not NOT_PLAIN.search(lesson.read_text())


def test_it_says_first_how_to_stop_it(lesson: Path) -> None:
    body = "\n".join(parts(lesson)[1])
    first = body[body.index("begin") :].partition("}")[0]
    assert "stop with Ctrl-C" in first


def test_it_deletes_what_it_inserts(lesson: Path) -> None:
    body = "\n".join(parts(lesson)[1])
    if lesson.suffix == ".bt":
        kept = set(BPF_MAP.findall(body))
        gone = re.findall(r"(?:clear|delete)\((@\w+)", body)
        assert kept and kept <= set(gone)
        keyed = set(re.findall(r"(@\w+)\[[^]]*\] = (?!count|hist|sum)", body))
        assert keyed <= set(re.findall(r"delete\((@\w+)", body))
    else:
        keyed = set(re.findall(r"\b(\w+)\[[^]]*\](?: =|\+\+) ?(?!=)", body))
        assert keyed <= set(re.findall(r"delete (\w+)", body))
