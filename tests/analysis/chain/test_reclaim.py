# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the writes to swap that no call waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
from writestall.cli.main import main

MS = build.MS


def said(path: Path, capsys: pytest.CaptureFixture[str], *, reclaim: bool) -> str:
    """What explain says of two slow I/Os to another device than the call's file."""
    events = build.Events()
    stack = "reclaim" if reclaim else "journal_buffer"
    events.block(300, 0, 300, stack, (0, "swapper/0"), "completion", ctx="hardirq")
    for op in ("write", "read"):
        events.io(300, 1_000, 600, "latwriter")
        events.rows[-1] |= {"dev": "7:0", "op": op}
    events.write(300, 0, 300, 300)
    run = build.run_dir(path / "run", events.end())
    assert main(["explain", str(run)]) == 0
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if "slow I/O" in line
    ]
    return line.partition(": ")[2]


def test_a_task_that_had_to_free_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its reads are its own."""
    both = "1 of memory reclaim in latwriter (inferred), 1 of latwriter"
    assert said(tmp_path, capsys, reclaim=True) == both


def test_a_task_that_had_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(tmp_path, capsys, reclaim=False) == "2 of latwriter"
