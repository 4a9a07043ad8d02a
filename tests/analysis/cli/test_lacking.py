# SPDX-License-Identifier: GPL-2.0-only
"""This test will call commands where they are not, and compare the page of installs."""

from __future__ import annotations

import re

import pytest

from support import PROJECT
from writestall.cli.commands import COMMANDS
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
PAGE = (PROJECT / "docs/install.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    {
        "lab page-lok --nonsense": "lab: needs a clone of the tree, where you run"
        " ./writestall lab",
        "deb": "deb: needs a clone of the tree, where you run ./writestall dev deb",
    }.items(),
)
def test_what_is_needed_is_reported_before_anything_else(
    words: str, message: str, capsys: Capture
) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"writestall: {message}; see docs/install.md\n"


def test_a_tracer_s_command_names_its_package(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("writestall.cli.commands.find_spec", lambda name: None)
    assert main(["record", "--nonsense"]) == 2
    message = capsys.readouterr().err
    assert message == (
        "writestall: record: needs root and the Debian package writestall-tracers, or a"
        " clone of the tree, where you run ./writestall record; see docs/install.md\n"
    )


def test_the_page_of_installs_has_every_command_once() -> None:
    table = PAGE.partition("| command | pipx |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", table, re.M)
    named = {
        name: pipx for names, pipx in rows for name in re.findall(r"`([^`]+)`", names)
    }
    assert set(named) == set(COMMANDS)
    for name, pipx in named.items():
        there = COMMANDS[name].packaged
        assert pipx.startswith("yes") == (there and name != "course"), name
    assert len(re.findall(r"`[^`]+`", "".join(names for names, _ in rows))) == len(
        named
    )
