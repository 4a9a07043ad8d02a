# SPDX-License-Identifier: GPL-2.0-only
"""This test will call each program of trace/ with --help, an unknown option and a stray
word, and check that none starts its work and that mistakes are reported in one line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support import PROJECT

PROGRAMS = sorted(
    path for path in (PROJECT / "trace").iterdir() if os.access(path, os.X_OK)
)
PROGRAMS = [path for path in PROGRAMS if path.is_file()]
# Tools that a program would start or write to when it works.
TOOLS = ("stap", "staprun", "bpftrace", "ln", "mkdir", "mktemp")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH whose tools record that they were called."""
    for name in TOOLS:
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\n: >{tmp_path}/worked\n")
        tool.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def call(program: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_programs_are_found() -> None:
    assert {path.name for path in PROGRAMS} >= {"trace", "drilldown", "build"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_help_is_shown(program: Path, path: str, tmp_path: Path) -> None:
    done = call(program, path, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: trace/{program.name}")
    assert not (tmp_path / "worked").exists()


@pytest.mark.parametrize(
    "words",
    [("--nonsense",), ("stray",), ("--auto", "-p", "1", "stray"), ("make", "stray")],
    ids=" ".join,
)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_an_unknown_word_is_refused(
    program: Path, words: tuple[str, ...], path: str, tmp_path: Path
) -> None:
    done = call(program, path, *words)
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"{program.name}: " in done.stderr
    assert not (tmp_path / "worked").exists()
