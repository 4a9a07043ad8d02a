# SPDX-License-Identifier: GPL-2.0-only
"""test_progress: each run of a command has its own logs, and the oldest go."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from driver import progress
from machine import cache
from writestall_base.errors import UserError

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


def test_what_is_left_is_counted_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, left = [0.0], [6]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    countdown = progress.Countdown("runs", lambda: left[0])
    assert countdown.line() == ""
    shown = ["0 of 6 runs done", "4 of 6 runs done, about 1 min left"]
    for asked_s, now_left, text in ((60, 6, shown[0]), (120, 2, shown[1])):
        now_s[0], left[0] = asked_s, now_left
        assert countdown.line() == text
    now_s[0], left[0] = 150, 0
    assert countdown.line() == shown[1]


def test_a_log_gets_what_is_left_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cache, "root", lambda: tmp_path)
    monkeypatch.setattr(progress, "TICK_S", 0.01)
    monkeypatch.setattr(progress, "ASK_S", 0.0)
    left = iter([3, 3, 3, 1, *[1] * 100_000])
    with progress.Progress(STAGES).stage() as log:
        log.countdown = progress.Countdown("runs", lambda: next(left))
        log.run(["sleep", "0.3"])
    lines = [line for line in capsys.readouterr().err.splitlines() if " of 3 " in line]
    assert [line.partition("  ")[2].split(" s  ")[1][:16] for line in lines] == [
        "0 of 3 runs done",
        "2 of 3 runs done",
    ]


def test_what_cannot_be_counted_ends_no_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ASK_S", 0.0)
    answers: list[int | UserError] = [3, 2, UserError("not a plan")]

    def left() -> int:
        if isinstance(found := answers.pop(0), UserError):
            raise found
        return found

    countdown = progress.Countdown("runs", left)
    assert countdown.line() == countdown.line() != ""
