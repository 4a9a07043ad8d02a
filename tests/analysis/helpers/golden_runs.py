# SPDX-License-Identifier: GPL-2.0-only
"""golden_runs: find the recorded runs of tests/data, and unpack a copy of one."""

from __future__ import annotations

from pathlib import Path

from support import PROJECT
from writestall.events import stored_run

RUNS = PROJECT / "tests/data/runs"
NAMES = sorted(path.name for path in RUNS.iterdir())
SCENARIOS = RUNS.with_name("scenarios")
HOMES = {path.name: path for home in (RUNS, SCENARIOS) for path in home.iterdir()}


def unpacked(name: str, folder: Path) -> Path:
    """A copy of a recorded run, all its records unpacked."""
    path = folder / name
    stored_run.unpack(HOMES[name], path)
    return path
