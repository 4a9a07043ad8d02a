# SPDX-License-Identifier: GPL-2.0-only
"""This test will classify the stacks on which tasks of our guests slept.

`tests/analysis/classify/recorded_stacks.py RUN...` adds those of more runs; read
what changes in `git diff`, unpacked.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from recorded_stacks import Row, answer, rows

SCENARIOS = Path(__file__).parents[3] / "repro" / "scenarios"
KERNELS = ("6.12", "7.2")  # those of make test; others may be there as well
CLIENTS = ("latwriter", "safepoint", "broker", "fio", "jbd2/")


@pytest.fixture(scope="module")
def kept() -> list[Row]:
    """All rows."""
    return rows()


def admits(scenario: Path, kernel: str) -> bool:
    """Whether a scenario's range of kernels has this one."""
    bounds = tomllib.loads(scenario.read_text()).get("kernel", {})
    least, most = bounds.get("min", kernel), bounds.get("max", kernel)
    return number(least) <= number(kernel) <= number(most)


def number(kernel: str) -> tuple[int, ...]:
    return tuple(map(int, kernel.split(".")))


def test_the_rules_say_what_they_said(kept: list[Row]) -> None:
    changed = [(row, new) for row in kept if (new := answer(row)) != row]
    assert not changed, changed[:3]


def test_each_scenario_of_both_kernels_is_there(kept: list[Row]) -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for row in kept:
        seen[row["kernel"]] |= set(row["scenarios"])
    for kernel in KERNELS:
        every = {path.stem for path in SCENARIOS.glob("*.toml") if admits(path, kernel)}
        assert seen[kernel] >= every, (kernel, every - seen[kernel])


def test_what_the_lab_waits_for_has_a_name(kept: list[Row]) -> None:
    """No wait of its programs or the journal in a file system is `other`."""
    nameless = [
        row
        for row in kept
        if row["class"] == "other" and row["comm"].startswith(CLIENTS)
        if any(frame.startswith(("vfs_write", "do_fsync")) for frame in row["kstack"])
    ]
    assert not nameless, nameless
