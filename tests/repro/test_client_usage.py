# SPDX-License-Identifier: GPL-2.0-only
"""This test will call each workload program with --help, an unknown option and a stray
word, and check that none starts its work."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CLIENTS = ["latwriter", "safepoint", "broker"]


@pytest.fixture(params=CLIENTS)
def program(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


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
