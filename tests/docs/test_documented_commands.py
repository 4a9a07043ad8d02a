# SPDX-License-Identifier: GPL-2.0-only
"""This test will try the command lines of the documents.

The program's own parser must take each. Those that need neither a VM nor root are run,
on recorded runs.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import (
    Line,
    all_lines,
    in_prose,
    in_text,
    named_commands,
    targets,
)

from golden_runs import unpacked
from support import PROJECT
from writestall.cli.commands import COMMANDS, OF_DEV
from writestall.cli.parser import command_parser
from writestall_base.errors import UserError

LINES = all_lines()
NAMED = named_commands()
# A folder of the reader's own; here it is one that exists.
THEIRS = re.compile(r"^~/.*")
TARGETS = targets()
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
SCENARIOS = {path.stem for path in (PROJECT / "repro/scenarios").glob("*.toml")}
TAKE_A_SCENARIO = {"lab", "variants", "drilldown"}
# What a reader has made before, by the words of the documents: what stands for it here.
STAND_INS = {
    "RUN": "out/latest",
    "stall": "out/latest",
    "FILE": "out/latest/kernel.log",
    "answers": "out",
    "stalls.jsonl": "out/latest/events/stap.jsonl",
}
MADE = re.compile(r"^out/.*/latest$")
RECORDED = "gc-log-6.12"
LOG = "tests/data/logs/dmesg-journal-buffer-6.12.txt.gz"
# They need more than one recorded run: a comparison, both engines, a run to compare.
# The labs of the course are walked by tests of their own.
NOT_RUN = {"compare-options", "compare-variants", "compare-engines", "course"}


def stand_in(word: str) -> str:
    """What stands here for a word: a run that the reader has made, or a folder."""
    if THEIRS.match(word):
        return str(PROJECT)
    return STAND_INS.get(word) or MADE.sub(STAND_INS["RUN"], word)


def writestall_words(line: Line) -> list[str]:
    """The words behind `writestall`; of a make line, those that make would start."""
    if line.program == "writestall":
        return line.words[1:]
    shown = subprocess.run(
        ["make", "--no-print-directory", "-n", *line.words[1:]],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, f"{line}: {shown.stderr}"
    started = re.search(r"\./writestall (?:dev )?(.*?)(?:;|&&|$)", shown.stdout, re.M)
    return shlex.split(started[1].rstrip("\\")) if started else []


def parse(line: Line) -> None:
    """Raise where the program would not take the words."""
    words = [stand_in(word) for word in writestall_words(line)]
    if not words or words[0] in ("--help", "COMMAND"):
        return
    assert words[0] in COMMANDS, f"{line}: no such command"
    command = COMMANDS[words[0]]
    parser = command_parser(command)
    if line.is_synopsis:
        known = set(parser._option_string_actions)
        assert set(OPTION.findall(line.text)) <= known, line
        return
    if "--help" in words:
        return
    at = words.index("--") if command.tail and "--" in words else len(words)
    try:
        args = parser.parse_args(words[1:at])
    except UserError as error:
        raise AssertionError(f"{line}: {error}") from None
    scenario = getattr(args, "scenario", None)
    if words[0] in TAKE_A_SCENARIO and scenario and "." not in scenario:
        assert scenario.partition(":")[0] in SCENARIOS, f"{line}: no such scenario"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which looks like a checkout in which a run was made."""
    for name in ("base", "analysis", "tests", "repro"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / "out").mkdir()
    unpacked(RECORDED, tmp_path / "out").rename(tmp_path / "out/latest")
    shutil.copy(PROJECT / LOG, tmp_path / STAND_INS["FILE"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check_names(line: Line) -> None:
    """Raise where the line names a command, option, target or variable there is not."""
    first, *others = line.plain.split()[1:]
    if line.program == "make":
        if first.startswith("-") or "=" in first:
            return  # another makefile's, or a variable for any target
        assert first in TARGETS, f"{line}: no such target"
        given = {word.partition("=")[0] for word in others if "=" in word}
        taken = TARGETS[first]
        assert taken.issuperset(given), f"{line}: no such variable"
    elif first != "--help":
        assert first in COMMANDS, f"{line}: no such command"
        known = set(command_parser(COMMANDS[first])._option_string_actions)
        assert set(OPTION.findall(" ".join(others))) <= known, line


def test_commands_for_who_changes_the_tree_are_written_with_dev() -> None:
    for line in (*LINES, *NAMED):
        name = line.plain.split()[1:2]
        if line.program == "writestall" and set(name) & set(COMMANDS):
            assert (line.plain != line.text) == (name[0] in OF_DEV), line


def test_there_are_command_lines() -> None:
    """The documents that a newcomer reads have some; none is overlooked."""
    places = {line.place.partition(":")[0] for line in LINES}
    assert {"README.md", "CONTRIBUTING.md", "docs/record.md"} <= places
    assert len(LINES) > 60


@pytest.mark.parametrize("name", sorted({x.place.partition(":")[0] for x in LINES}))
@pytest.mark.usefixtures("place")
def test_the_program_takes_every_line(name: str) -> None:
    for line in LINES:
        if line.place.startswith(f"{name}:"):
            parse(line)


@pytest.mark.parametrize("name", sorted({line.place for line in NAMED}))
def test_the_prose_names_what_there_is(name: str) -> None:
    """Commands, their options, targets and their variables; not their values."""
    for line in NAMED:
        if line.place == name:
            check_names(line)


def _runs_anywhere(line: Line) -> bool:
    words = line.words
    name = words[1] if len(words) > 1 and line.program == "writestall" else ""
    is_ours = name in COMMANDS and COMMANDS[name].module.startswith("writestall.")
    return is_ours and not line.is_synopsis and name not in NOT_RUN


RUNNABLE = [line for line in LINES if _runs_anywhere(line)]


@pytest.mark.parametrize("line", RUNNABLE, ids=str)
def test_what_needs_no_vm_runs(line: Line, place: Path) -> None:
    words = [stand_in(word) for word in line.words[1:]]
    if words[0] == "demo" and "--no-browser" not in words:
        words.append("--no-browser")
    done = subprocess.run(
        [sys.executable, "-m", "writestall", *words],
        cwd=place,
        env=os.environ | {"PYTHONPATH": f"{PROJECT}/base:{PROJECT}/analysis"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert done.stdout or "-o" in words, line


def test_a_line_that_the_program_refuses_is_found() -> None:
    text = "so:\n\n    make lab SCENARIOS=x\n    ./writestall explain --tpo 3 RUN\n"
    made, ours = in_text(text, "page")
    with pytest.raises(
        AssertionError, match="SCENARIOS: make lab has no such variable"
    ):
        parse(made)
    with pytest.raises(AssertionError, match=r"page:4: .*did you mean --top"):
        parse(ours)
    (unknown,) = in_text("```\n$ make lab SCENARIO=pagelock  # so\n```\n", "page")
    with pytest.raises(AssertionError, match="no such scenario"):
        parse(unknown)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "run `make labs` first": "no such target",
        "`make lab\nSCENARIOS=x`": "no such variable",
        "`writestall explian RUN`": "no such command",
        "`./writestall explain --tpo 3`": "--tpo",
    }.items(),
)
def test_a_name_that_there_is_not_is_found(text: str, said: str) -> None:
    (line,) = in_prose(text, "page")
    with pytest.raises(AssertionError, match=said):
        check_names(line)
