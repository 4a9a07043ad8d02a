# SPDX-License-Identifier: GPL-2.0-only
"""This test will decide after each look of a plan whether `compare` goes on."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from driver import runs
from driver.commands import compare
from writestall_base import plans

LOOKS = (8, 12, 16)


class Asked:
    """What stands for a request: its folder, and repro/plan's options."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.planned = folder, ("--fs", "ext4")


@pytest.mark.parametrize(
    ("decided", "rounds"),
    [
        ([(0, True)], []),
        ([(3, False), (1, True)], ["12"]),
        ([(3, False), (3, False)], ["12", "16"]),
        ([(2, False)], []),
    ],
)
def test_rounds_are_added_until_the_comparison_is_decided(
    decided: list[tuple[int, bool]],
    rounds: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter(decided)
    planned: list[tuple[str, ...]] = []
    ran: list[str] = []
    plan = {"rounds": LOOKS[0], "looks": LOOKS}
    monkeypatch.setattr(plans, "read", {tmp_path: plan}.__getitem__)

    def analysed(*_: Any) -> CompletedProcess[str]:
        status, done = next(answers)
        return CompletedProcess([], status, json.dumps({"decided": done}), "")

    def made(program: str, *words: str) -> str:
        planned.append(words)
        return program

    def run(*_: Any) -> str:
        ran.append("")
        return "done"

    monkeypatch.setattr(runs, "analysed", analysed)
    monkeypatch.setattr(compare, "answer", made)
    monkeypatch.setattr(compare, "_runs", run)
    asked: Any = Asked(tmp_path)
    log: Any = None
    assert compare._until_decided(log, Path("python"), asked) == "done"
    assert [words[-1] for words in planned] == rounds
    assert all("--rounds" in words and "--fs" in words for words in planned)
    assert len(ran) == 1 + len(rounds)
