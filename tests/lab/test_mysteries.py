# SPDX-License-Identifier: GPL-2.0-only
"""test_mysteries: the labs of the course in machines, with right and wrong answers.

`make test-course` runs all of them, their own runs and mysteries; `make test` one
mystery.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from course_runs import judged
from writestall.course import tables

SEED = "first"


def cases() -> Iterator[tuple[int, str]]:
    """Labs, and the seeds of their mysteries; no seed is the lab's own run."""
    for lab in tables.labs():
        yield lab.number, ""
        yield lab.number, SEED


@pytest.mark.on_demand("make test-course: each lab of the course, twice")
# One worker runs those of one lab (pytest-xdist, --dist loadscope).
@pytest.mark.parametrize(
    ("number", "seed"),
    [pytest.param(lab, seed, id=f"{lab}::{seed}") for lab, seed in cases()],
)
def test_a_lab_runs_in_a_machine_and_is_judged(
    number: int, seed: str, tmp_path: Path
) -> None:
    judged(number, seed, tmp_path)
