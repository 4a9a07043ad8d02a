# SPDX-License-Identifier: GPL-2.0-only
"""test_systemd_unit: systemd takes the unit, and finds little that it may do.

So it does with the drop-in for SystemTap, which may do more.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from driver import unpacked
from support import PROJECT
from writestall.cli.commands import COMMANDS
from writestall.cli.parser import command_parser

FOLDER = PROJECT / "packaging/systemd"
UNIT = FOLDER / "writestall-watch.service"
SOCKET = UNIT.with_suffix(".socket")
PROGRAM = "/usr/bin/writestall"
# Tenths of systemd-analyze's scale: 10 is a service without any limit. SystemTap loads
# modules, which is all that a kernel can do.
MOST_EXPOSED = {"": 25, "stap": 45}


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with this checkout's program, since none is installed."""
    for path in (UNIT, SOCKET):
        text = path.read_text().replace(PROGRAM, str(PROJECT / "writestall"))
        (tmp_path / path.name).write_text(text)
    return tmp_path / UNIT.name


def _drop_in(unit: Path, engine: str) -> None:
    """Add the drop-in for an engine; there is none for the first."""
    if engine:
        folder = unit.with_name(f"{unit.name}.d")
        folder.mkdir()
        text = (FOLDER / f"{engine}.conf").read_text()
        text = text.replace(PROGRAM, str(PROJECT / "writestall"))
        (folder / f"{engine}.conf").write_text(text)


def _analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    at = {Path(word).parent for word in words if isinstance(word, Path)}
    # The first process of a PID namespace would log to the kernel (log_open(3)).
    said = ["env", "SYSTEMD_LOG_TARGET=console"]
    program = [*said, "systemd-analyze", *map(str, words)]
    command = unpacked.command(program, [PROJECT, *at])
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("engine", MOST_EXPOSED)
def test_systemd_takes_the_unit(unit: Path, engine: str) -> None:
    _drop_in(unit, engine)
    done = _analyze("verify", "--man=no", unit)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_key_that_systemd_does_not_know_is_found(unit: Path) -> None:
    unit.write_text(unit.read_text() + "\n[Service]\nMemoryMaxx=1\n")
    done = _analyze("verify", "--man=no", unit)
    assert "MemoryMaxx" in done.stderr


@pytest.mark.parametrize("engine", MOST_EXPOSED)
def test_little_is_exposed(unit: Path, engine: str) -> None:
    _drop_in(unit, engine)
    words = ("security", "--offline=true", f"--threshold={MOST_EXPOSED[engine]}")
    done = _analyze(*words, unit)
    assert done.returncode == 0, done.stdout[-400:]


def test_every_drop_in_is_tried() -> None:
    assert {path.stem for path in FOLDER.glob("*.conf")} == {*MOST_EXPOSED} - {""}


@pytest.mark.parametrize("path", [UNIT, *sorted(FOLDER.glob("*.conf"))])
def test_its_command_line_is_understood(path: Path) -> None:
    lines = re.findall(r"^ExecStart=(.+)$", path.read_text(), re.MULTILINE)
    program, command, *words = lines[-1].split()
    assert (program, command) == (PROGRAM, "watch")
    found = command_parser(COMMANDS["watch"]).parse_args(words)
    # The service has no network: it takes the socket with that address.
    host, port = found.listen
    assert f"\nListenStream={host}:{port}\n" in SOCKET.read_text()
    assert host == "127.0.0.1"
