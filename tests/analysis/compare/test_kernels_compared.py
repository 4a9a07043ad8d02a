# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare options on several kernels, run by run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from comparisons import QUICK, SLOW, Made, comparison
from support import PROJECT
from writestall.cli.main import main

SCHEMA = json.loads((PROJECT / "docs/compare.schema.json").read_text())
Runs = Mapping[str, Sequence[Made | None]]
REGRESSED: Runs = {
    "ext4@6.12": QUICK,
    "ext4-again@6.12": QUICK,
    "ext4@7.2": SLOW,
    "xfs@6.12": SLOW,
    "xfs@7.2": SLOW,
}


def judged(
    folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, Any], str]:
    """The status, compare.json and compare.txt."""
    capsys.readouterr()
    status = main(["compare-options", str(folder), "--write", *words])
    printed = capsys.readouterr().out
    answer = json.loads((folder / "compare.json").read_text())
    jsonschema.validate(answer, SCHEMA)
    return status, answer, printed


def test_each_option_is_compared_with_itself_on_the_first_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = comparison(tmp_path / "c", REGRESSED)
    _, found, text = judged(path, capsys)
    outcomes = {
        pair["option"]: (pair["baseline"], pair["clear"], pair["better"])
        for pair in found["pairs"]
    }
    assert outcomes == {
        "ext4@7.2": ("ext4@6.12", True, False),
        "xfs@6.12": ("ext4@6.12", True, False),
        "xfs@7.2": ("xfs@6.12", False, False),
    }
    by = "by share of requests over 65 ms"
    assert found["headline"] == (
        f"Against ext4@6.12, {by}: clearly higher xfs@6.12."
        f" 7.2 against 6.12, {by}: clearly higher ext4@7.2;"
        " no difference found for xfs@7.2."
    )
    assert found["question"] == (
        "May xfs@6.12 replace ext4@6.12 and may 7.2 replace 6.12 for work on slow?"
    )
    assert [row["name"] for row in found["options"]] == [
        *("ext4@6.12", "ext4@7.2", "xfs@6.12", "xfs@7.2")
    ]
    assert "--fs ext4,xfs --baseline ext4@6.12 --kernel 6.12,7.2" in text


def test_the_chain_that_changed_most_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """build.cascade() stalls for 1 s in a run of 4 s, 600 ms of it for a buffer."""
    path = comparison(tmp_path / "c", REGRESSED)
    _, found, text = judged(path, capsys)
    (change,) = found["changes"]
    assert (change["option"], change["reference"]) == ("ext4@7.2", "ext4@6.12")
    assert change["s_per_hour"] == pytest.approx(900, rel=0.01)
    assert change["wait_class"]["name"] == "journal_buffer"
    assert change["wait_class"]["higher"] == 8
    assert change["wait_class"]["s_per_hour"] == pytest.approx(540, rel=0.01)
    assert change["root"]["name"] == "vdb slow for jbd2"
    outcomes = "changed most: journal_buffer +540.0 s/h (more in 8 of 8 rounds)"
    assert outcomes in text


def test_a_mended_kernel_stalls_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"ext4@6.12": SLOW, "ext4-again@6.12": SLOW, "ext4@7.2": QUICK}
    _, found, text = judged(comparison(tmp_path / "c", runs), capsys)
    assert found["question"] == "May 7.2 replace 6.12 for work on slow?"
    assert found["headline"].endswith(": clearly lower ext4@7.2.")
    assert "journal_buffer -540.0 s/h (less in 8 of 8 rounds)" in text


def test_twice_the_same_kernel_says_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"ext4@7.2": SLOW, "ext4-again@7.2": SLOW, "ext4@7.2-2": SLOW}
    _, found, _ = judged(comparison(tmp_path / "c", runs), capsys)
    assert found["headline"].endswith(": no difference found for ext4@7.2-2.")
    assert (found["changes"], found["void"]) == ([], False)


def test_too_few_rounds_say_nothing_of_a_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"ext4@7.2": QUICK, "ext4-again@7.2": QUICK, "ext4@7.2-2": SLOW}
    few = {name: rows[:3] for name, rows in runs.items()}
    _, _, text = judged(comparison(tmp_path / "c", few), capsys, "--margin", "2x")
    assert "fewer than 6 rounds cannot show a clear difference for ext4@7.2-2." in text
    assert "no difference" not in text


def test_a_margin_is_over_the_first_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = comparison(tmp_path / "c", REGRESSED)
    status, found, text = judged(path, capsys, "--margin", "1.5x")
    words = {row["option"]: row["word"] for row in found["verdicts"]}
    assert words == {
        "ext4@6.12": "PASS",
        "ext4@7.2": "FAIL",
        "xfs@6.12": "FAIL",
        "xfs@7.2": "PASS",
    }
    assert status == 1
    said = {row["option"]: row["reasons"][0] for row in found["verdicts"]}
    assert said["xfs@7.2"] == "1.00x xfs@6.12 (1.00 to 1.00)"
    assert "kernels: 7.2 against 6.12, by share" in text


def test_an_option_whose_reference_did_not_run_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = dict(REGRESSED) | {"xfs@6.12": [None] * 8}
    status, found, _ = judged(comparison(tmp_path / "c", runs), capsys)
    assert status == 0
    assert {pair["option"] for pair in found["pairs"]} == {"ext4@7.2"}
    _, found, _ = judged(tmp_path / "c", capsys, "--margin", "1.5x")
    words = {row["option"]: row["word"] for row in found["verdicts"]}
    assert words["xfs@7.2"] == "UNKNOWN"


def test_a_plan_that_compares_with_nothing_known_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = comparison(tmp_path / "c", REGRESSED)
    plan = json.loads((path / "plan.json").read_text())
    plan["options"][2]["against"] = "zfs@1"
    (path / "plan.json").write_text(json.dumps(plan))
    assert main(["compare-options", str(path)]) == 2
    assert "zfs@1 is not one of its options" in capsys.readouterr().err
