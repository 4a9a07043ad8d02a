# SPDX-License-Identifier: GPL-2.0-only
"""This test will call each program of repro/ with --help, an unknown option and a stray
word, and check that none starts its work."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support import PROJECT

SCRIPTS = sorted(
    path
    for path in (PROJECT / "repro").iterdir()
    if path.is_file() and os.access(path, os.X_OK)
)
CLIENTS = ["latwriter", "safepoint", "broker"]


@pytest.fixture(params=[path.name for path in SCRIPTS] + CLIENTS)
def program(request: pytest.FixtureRequest) -> Path:
    if request.param in CLIENTS:
        found: Path = request.getfixturevalue(request.param)
        return found
    return PROJECT / "repro" / str(request.param)


def _call(program: Path, folder: Path, word: str) -> subprocess.CompletedProcess[str]:
    """Call a program in a folder in which it must leave nothing."""
    done = subprocess.run(
        [program, word],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not list(folder.iterdir())
    return done


def test_there_are_programs() -> None:
    assert {"run", "plan", "each", "crash"} <= {path.name for path in SCRIPTS}


def test_help_is_usage_and_nothing_else(program: Path, tmp_path: Path) -> None:
    done = _call(program, tmp_path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")


@pytest.mark.parametrize("word", ["--nonsense", "stray-word"])
def test_a_mistake_is_one_line_and_no_work(
    program: Path, word: str, tmp_path: Path
) -> None:
    done = _call(program, tmp_path, word)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
