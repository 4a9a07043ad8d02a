# SPDX-License-Identifier: GPL-2.0-only
"""test_lab_fio: compare fio's measurements with the kernel's events in one real run."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab_runs import analysed, make_lab
from test_lab import AWAKE_MS


@pytest.mark.on_demand("one more run of the lab, with another client")
def test_fios_view_is_joined_with_the_kernels(tmp_path: Path) -> None:
    """Each slow write of fio was traced by both engines, and no other is reported."""
    lab = make_lab(tmp_path, SCENARIO="fio", ENGINE="both")
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    rows = lab.lines("writer.jsonl")
    slow = [row for row in rows if row["ev"] == "client_write"]
    assert len(slow) >= 3
    compared = analysed("compare-engines", lab.run, "--awake-ms", AWAKE_MS)
    assert compared.returncode == 0, compared.stdout
    summary = lab.json("summary.json")
    assert summary["writes"] == rows[-1]["writes"]
    # Both count from the intended start: one of the slow writes is the slowest.
    worst_ns = max(row["t_ns"] + row["dur_ns"] - row["intended_ns"] for row in slow)
    assert abs(summary["max_ns"] - worst_ns) <= 0.01 * worst_ns
