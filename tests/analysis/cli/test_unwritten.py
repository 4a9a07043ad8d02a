# SPDX-License-Identifier: GPL-2.0-only
"""test_unwritten: an answer that cannot be written is one line, a closed pipe none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import build
from support import PROJECT

COMMANDS = (
    "explain",
    "explain --json",
    "check",
    "export --to csv",
    "export --to prometheus",
    "hist",
    "heatmap",
    "report",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = build.run_dir(tmp_path_factory.mktemp("runs") / "run", build.cascade())
    (run / "truth.jsonl").write_text('{"ev":"end","t_ns":1,"lost":0}\n')
    return run


def _printed(words: str, run: Path, to: int, unbuffered: str) -> tuple[int, str]:
    """The status and messages of a command that prints to an open file."""
    command = [sys.executable, str(PROJECT / "writestall"), *words.split(), str(run)]
    done = subprocess.run(
        command,
        stdout=to,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    lines = [ln for ln in done.stderr.splitlines() if not ln.startswith("note: ")]
    return done.returncode, "\n".join(lines)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_is_one_line(words: str, unbuffered: str, run: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = _printed(words, run, full.fileno(), unbuffered)
    assert done == (2, "writestall: standard output: No space left on device")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", COMMANDS)
def test_a_closed_pipe_is_no_error(words: str, unbuffered: str, run: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = _printed(words, run, writer, unbuffered)
    os.close(writer)
    assert done == (0, "")
