# SPDX-License-Identifier: GPL-2.0-only
"""This test will read the lists of commands that --help prints."""

from __future__ import annotations

import re

import pytest

from writestall.cli.commands import COMMANDS
from writestall.cli.main import main

MOST = 25
Capture = pytest.CaptureFixture[str]


def listed(words: list[str], capsys: Capture) -> list[str]:
    assert main(words) == 0
    return re.findall(r"^  ([a-z-]+) ", capsys.readouterr().out, re.M)


def test_a_user_sees_few_commands_and_each_once(capsys: Capture) -> None:
    users, dev = listed([], capsys), listed(["dev", "--help"], capsys)
    assert len(users) <= MOST
    assert sorted(users + dev) == sorted(COMMANDS)
    assert listed(["--help"], capsys) == users
    assert listed(["dev"], capsys) == dev


def test_dev_calls_the_command(capsys: Capture) -> None:
    assert main(["dev", "nope"]) == 2
    assert capsys.readouterr().err.startswith("writestall: unknown command 'nope'")
    with pytest.raises(SystemExit) as ended:
        main(["dev", "expect", "--help"])
    assert ended.value.code == 0
    assert "usage: writestall dev expect " in capsys.readouterr().out
