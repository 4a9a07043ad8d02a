# SPDX-License-Identifier: GPL-2.0-only
"""test_special_files: a pipe in a run is named, and nobody waits for what comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import build
from support import PROJECT

# One that waits for a pipe never ends. Starting from a cold disk that was busy, polars'
# import among it, took more than 30 s once.
LIMIT_S = 120
NAMED = "not a regular file"
COMMANDS = ("explain", "report", "check", "export --to csv", "watch --replay")


def _run(words: str, run: Path) -> tuple[int, str]:
    command = [sys.executable, str(PROJECT / "writestall"), *words.split(), str(run)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build.run_dir(tmp_path / "run", build.cascade())


def _pipe(place: Path) -> None:
    place.unlink(missing_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize("words", COMMANDS)
def test_events_that_are_a_pipe_are_refused(words: str, run: Path) -> None:
    events = run / "events/stap.jsonl"
    _pipe(events)
    status, said = _run(words, run)
    assert status == 2
    (line,) = said.splitlines()
    assert line.endswith(f": {events}: {NAMED}")


@pytest.mark.parametrize("words", ["explain", "export --to csv", "watch --replay"])
def test_a_manifest_that_is_a_pipe_is_a_note(words: str, run: Path) -> None:
    _pipe(run / "manifest.json")
    status, said = _run(words, run)
    assert status == 0
    assert f"manifest.json: {NAMED}; names and versions unknown" in said


def test_a_record_that_is_a_pipe_is_refused(run: Path) -> None:
    _pipe(run / "truth.jsonl")
    told = _run("check", run)
    assert told == (2, f"writestall: {run / 'truth.jsonl'}: {NAMED}\n")


@pytest.mark.parametrize("words", ["explain", "report"])
def test_a_client_s_record_that_is_a_pipe_is_refused(words: str, run: Path) -> None:
    _pipe(run / "writer.jsonl")
    told = _run(words, run)
    assert told == (2, f"writestall: {run / 'writer.jsonl'}: {NAMED}\n")


def test_latencies_that_are_a_pipe_are_a_note(run: Path) -> None:
    _pipe(run / "writer.hlog")
    status, said = _run("explain", run)
    assert status == 0
    assert f"note: writer.hlog: {NAMED}; left out" in said
