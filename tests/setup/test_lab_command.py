# SPDX-License-Identifier: GPL-2.0-only
"""This test will run the lab's stages without a machine, and look at what it prints."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from driver import own_command, runs
from driver.commands import lab
from driver.machines import PREPARING, Needs
from driver.progress import Progress, StageError, StageLog
from driver.runs import Request
from driver.settings import Settings
from writestall_base.errors import UserError

ANSWER = "3 writes stalled, worst 900 ms\n"


def test_an_answer_that_fails_its_check_is_printed_behind_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = Settings("6.12", None, tmp_path / "out", False)
    request = Request(settings, "gc-log", "core", "biodelay", "", Needs())
    run = settings.out / request.run_name
    run.mkdir(parents=True)

    def prepare(progress: Progress, *rest: object) -> tuple[Path, Path]:
        for stage in PREPARING:
            with progress.stage() as log:
                log.note = stage.name
        return Path("python"), tmp_path

    def check(*_: object) -> str:
        raise UserError("check ended with status 1")

    def explain(log: StageLog, *_: object) -> str:
        return ANSWER

    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path))
    monkeypatch.setattr(own_command, "read", lambda args: request)
    monkeypatch.setattr(lab, "prepare", prepare)
    monkeypatch.setattr(runs, "begin", lambda request, run: request)
    monkeypatch.setattr(runs, "run_command", lambda *_: ["true"])
    monkeypatch.setattr(runs, "end", lambda run: None)
    monkeypatch.setattr(lab, "analyse", explain)
    monkeypatch.setattr(lab, "_check", check)
    with pytest.raises(StageError):
        lab.main(argparse.Namespace(call=None))
    said = capfd.readouterr()
    assert "!! check" in said.err
    assert ANSWER in said.out
    assert (run / "report.txt").read_text() == ANSWER
