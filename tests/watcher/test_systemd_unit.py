# SPDX-License-Identifier: GPL-2.0-only
"""test_systemd_unit: systemd takes the unit, and finds little that it may do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from driver import unpacked
from support import PROJECT
from writestall.cli.commands import COMMANDS
from writestall.cli.parser import command_parser

UNIT = PROJECT / "packaging/systemd/writestall-watch.service"
PROGRAM = "/usr/bin/writestall"
# Tenths of systemd-analyze's scale: 10 is a service without any limit.
MOST_EXPOSED = 45


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with this checkout's program, since none is installed."""
    place = tmp_path / UNIT.name
    place.write_text(UNIT.read_text().replace(PROGRAM, str(PROJECT / "writestall")))
    return place


def _analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    at = {Path(word).parent for word in words if isinstance(word, Path)}
    program = ["systemd-analyze", *map(str, words)]
    command = unpacked.command(program, [PROJECT, *at])
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_systemd_takes_the_unit(unit: Path) -> None:
    done = _analyze("verify", "--man=no", unit)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_key_that_systemd_does_not_know_is_found(unit: Path) -> None:
    unit.write_text(unit.read_text() + "\n[Service]\nMemoryMaxx=1\n")
    done = _analyze("verify", "--man=no", unit)
    assert "MemoryMaxx" in done.stderr


def test_little_is_exposed(unit: Path) -> None:
    words = ("security", "--offline=true", f"--threshold={MOST_EXPOSED}")
    done = _analyze(*words, unit)
    assert done.returncode == 0, done.stdout[-400:]


def test_its_command_line_is_understood() -> None:
    line = re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert line
    program, command, *words = line[1].split()
    assert (program, command) == (PROGRAM, "watch")
    found = command_parser(COMMANDS["watch"]).parse_args(words)
    assert found.listen[0] == "127.0.0.1"
