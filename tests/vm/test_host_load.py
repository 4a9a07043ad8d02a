# SPDX-License-Identifier: GPL-2.0-only
"""This test will read how busy a host was while a machine ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from machine import host_load
from machine.host_load import Reading


def reading(folder: Path, load: str, cpu: str) -> Reading:
    (folder / "loadavg").write_text(f"{load} 1.00 1.00 2/300 4711\n")
    (folder / "stat").write_text(f"cpu  {cpu}\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    return Reading.now(folder)


def test_steal_is_a_share_of_all_ticks_in_between(tmp_path: Path) -> None:
    before = reading(tmp_path, "0.25", "100 0 50 800 10 0 0 40 70 0")
    after = reading(tmp_path, "3.50", "150 0 60 820 10 0 0 60 90 0")
    found = host_load.between(before, after)
    assert (found["load_before"], found["load_after"]) == (0.25, 3.5)
    assert found["steal_share"] == pytest.approx(0.2)  # 20 of 100, guest's not twice
    assert found["node"]
    assert host_load.between(before, before)["steal_share"] == 0


def test_this_host_has_them() -> None:
    now = Reading.now()
    assert now.load >= 0
    assert 0 <= now.steal < now.ticks
