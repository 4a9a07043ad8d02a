# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare options on one disk with longer and with shorter delays."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_kernels_compared import Runs, judged

from comparisons import QUICK, SLOW, comparison

TURNING: Runs = {
    "ext4@1x": SLOW,
    "ext4-again@1x": SLOW,
    "xfs@1x": QUICK,
    "ext4@4x": QUICK,
    "xfs@4x": SLOW,
}
BY = "by share of requests over 65 ms"


def test_an_order_that_turns_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found, text = judged(comparison(tmp_path / "c", TURNING), capsys)
    assert found["headline"] == (
        f"Against ext4@1x, {BY}: clearly lower xfs@1x."
        " With the disk's delays at 4x: clearly higher xfs@4x."
        " The order of xfs turns: clearly lower at 1x, clearly higher at 4x."
    )
    assert found["question"] == (
        "May xfs@1x replace ext4@1x, and with 4x its delays for work on slow?"
    )
    assert "--severity 1,4" in text


def test_each_severity_has_a_baseline_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = comparison(tmp_path / "c", TURNING)
    _, found, text = judged(path, capsys, "--margin", "1.5x")
    words = {row["option"]: row["word"] for row in found["verdicts"]}
    assert words == {
        "ext4@1x": "PASS",
        "xfs@1x": "PASS",
        "ext4@4x": "PASS",
        "xfs@4x": "FAIL",
    }
    at = "With the disk's delays at"
    said = f"severity: {at} 1x: clearly lower xfs@1x. {at} 4x: clearly higher xfs@4x."
    assert said in text
