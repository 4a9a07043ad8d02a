# SPDX-License-Identifier: GPL-2.0-only
"""test_progress: each run of a command has its own logs, and the oldest go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from driver import progress
from machine import cache

STAGES = (progress.Stage("image", "try again"),)


def log_of_a_run(words: str) -> Path:
    with progress.Progress(STAGES).stage() as log:
        log.run(["echo", words])
    return log.path


def test_a_run_leaves_the_logs_of_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "root", lambda: tmp_path)
    pids = iter(range(100))
    monkeypatch.setattr(os, "getpid", lambda: 1000 + next(pids))
    first, second = log_of_a_run("first"), log_of_a_run("second")
    assert "first" in first.read_text()
    assert "second" in second.read_text()
    assert "second" not in first.read_text()
    for number in range(progress.RUNS_KEPT):
        log_of_a_run(str(number))
    assert not first.exists()
    assert len(list((tmp_path / "logs").iterdir())) == progress.RUNS_KEPT
