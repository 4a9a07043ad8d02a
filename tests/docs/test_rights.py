# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the table of rights in SECURITY.md with the commands."""

from __future__ import annotations

import re
from collections import Counter

from support import PROJECT
from writestall.cli.commands import COMMANDS
from writestall.cli.parser import command_parser


def _rows() -> list[tuple[set[str], str, str]]:
    """The commands of each row, their rights, and what they can do."""
    text = (PROJECT / "SECURITY.md").read_text()
    cells = re.findall(r"^\| (`.+?) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    return [(set(re.findall("`([^`]+)`", a)), b, c) for a, b, c in cells]


def test_each_command_is_in_one_row() -> None:
    listed = Counter(name for names, _, _ in _rows() for name in names)
    del listed["kmod/biodelay.ko"]
    assert listed == Counter(list(COMMANDS))


def test_those_that_need_root_say_so() -> None:
    always = {
        name for names, rights, _ in _rows() if rights == "root" for name in names
    }
    assert always == {name for name, command in COMMANDS.items() if command.root}


def test_those_that_install_packages_say_so() -> None:
    says = {name for names, _, can in _rows() if "install" in can for name in names}
    has = {
        name
        for name, command in COMMANDS.items()
        if "--no-install" in command_parser(command).format_help()
    }
    assert has and has <= says
