# SPDX-License-Identifier: GPL-2.0-only
"""This test will join folders of comparisons to one report, or refuse to, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from comparisons import QUICK, SLOW, Made, comparison, cut
from writestall.cli.main import main

OPTIONS: Mapping[str, Sequence[Made | None]]
OPTIONS = {"ext4": QUICK, "ext4-again": QUICK, "xfs": SLOW}
OTHERS: Mapping[str, Sequence[Made | None]]
OTHERS = {"ext4": SLOW, "ext4-again": SLOW, "xfs": SLOW, "btrfs": QUICK}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two comparisons with the same disk and load, the second one on Linux 7.2."""
    first = comparison(tmp_path / "first", OPTIONS)
    other = comparison(tmp_path / "other", OTHERS)
    for manifest in other.glob("*/*/manifest.json"):
        changed = json.loads(manifest.read_text()) | {"kernel": "7.2.12-amd64"}
        manifest.write_text(json.dumps(changed))
    return first, other


def answer(
    capsys: pytest.CaptureFixture[str], *folders: Path, status: int = 0
) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["compare-options", *map(str, folders), "--json"]) == status
    return dict(json.loads(capsys.readouterr().out))


def test_folders_of_two_kernels_are_compared_option_by_option(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, *two)
    outcomes = {
        one["option"]: (one["baseline"], one["clear"]) for one in found["pairs"]
    }
    assert outcomes == {
        "ext4@7.2": ("ext4@6.12", True),
        "xfs@6.12": ("ext4@6.12", True),
        "xfs@7.2": ("xfs@6.12", False),
        "btrfs@7.2": ("ext4@7.2", True),
    }
    by = "by share of requests over 65 ms"
    assert found["headline"] == (
        f"Against their baselines, {by}: clearly lower btrfs@7.2; clearly higher"
        f" xfs@6.12. 7.2 against 6.12, {by}: clearly higher ext4@7.2; no difference"
        " found for xfs@7.2."
    )
    assert found["plan"].endswith("2 folders, joined after they were run")
    assert found["noise"]["option"] == "ext4-again@6.12"


def test_folders_of_one_kernel_are_named_by_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = comparison(tmp_path / "first", OPTIONS)
    more = comparison(tmp_path / "more", {"ext4": QUICK, "btrfs": SLOW})
    cut(more, "btrfs", lost_synced=3)
    found = answer(capsys, first, more)
    outcomes = {
        one["option"]: (one["baseline"], one["clear"]) for one in found["pairs"]
    }
    assert outcomes == {
        "xfs@first": ("ext4@first", True),
        "ext4@more": ("ext4@first", False),
        "btrfs@more": ("ext4@more", True),
    }
    assert [kept["option"] for kept in found["durability"]] == ["btrfs@more"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("profile", {"name": "ssd"}, "its disk is ssd, that of {} is slow"),
        ("workload", {"name": "etcd"}, "its workload is etcd, that of {} is work"),
        ("seed", 2, "its seed is 2, that of {} is 1"),
        ("duration_s", 9, "its duration is 9, that of {} is 4"),
        ("aged_percent", 70, "its age is 70, that of {} is 0"),
        ("loads", [50, 100], "its loads is [50, 100], that of {} is [100]"),
    ],
)
def test_what_differs_is_refused_by_name(
    two: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    key: str,
    value: Any,
    said: str,
) -> None:
    plan = json.loads((two[1] / "plan.json").read_text()) | {key: value}
    (two[1] / "plan.json").write_text(json.dumps(plan))
    assert main(["compare-options", *map(str, two)]) == 2
    outcomes = capsys.readouterr().err
    assert f"{two[1]}: {said.format(two[0])}" in outcomes
    assert outcomes.count("\n") == 1


def test_a_joined_report_is_written_into_no_folder(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare-options", *map(str, two), "--write"]) == 2
    assert "--write: want one folder" in capsys.readouterr().err
    assert not list(two[0].glob("compare.*"))


def test_what_compares_kernels_by_itself_is_not_joined(
    tmp_path: Path, two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    both = comparison(tmp_path / "both", {"ext4@6.12": QUICK, "ext4@7.2": QUICK})
    assert main(["compare-options", str(two[0]), str(both)]) == 2
    assert f"{both}: compares several kernels by itself" in capsys.readouterr().err
