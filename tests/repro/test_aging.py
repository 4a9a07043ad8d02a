# SPDX-License-Identifier: GPL-2.0-only
"""These tests will age a folder as a file system is aged."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from labrun.scenario.keys import FileSystem
from labrun.setup import aging
from labrun.setup.aging import Change
from writestall_base.progress import Progress
from writestall_base.steps import Run
from writestall_base.stop import Stop

FILL_BYTES = 256 << 20


def _held(changes: list[Change]) -> list[int]:
    """The bytes held after each change; each deletes what is there."""
    files: dict[int, int] = {}
    held: list[int] = []
    for one in changes:
        if one.size_bytes:
            assert one.number not in files
            files[one.number] = one.size_bytes
        else:
            del files[one.number]
        held.append(sum(files.values()) if len(held) % 50 == 0 else -1)
    return [*(one for one in held if one >= 0), sum(files.values())]


def test_the_space_is_filled_and_turned_over_but_never_exceeded() -> None:
    changes = list(aging.churn(FILL_BYTES, 70))
    assert changes == list(aging.churn(FILL_BYTES, 70))
    assert changes != list(aging.churn(FILL_BYTES, 71))
    held = _held(changes)
    assert max(held) <= FILL_BYTES
    assert held[-1] > (1 - 2 * aging.LARGEST) * FILL_BYTES
    made = sum(one.size_bytes for one in changes)
    assert 0 <= made - aging.TURNOVERS * FILL_BYTES < aging.LARGEST * FILL_BYTES


def test_most_files_are_small_and_die_young() -> None:
    changes = list(aging.churn(FILL_BYTES, 70))
    sizes = [one.size_bytes for one in changes if one.size_bytes]
    assert 8192 <= statistics.median(sizes) <= 16_384
    assert max(sizes) > 100 * statistics.median(sizes)
    made_at = {one.number: at for at, one in enumerate(changes) if one.size_bytes}
    lives = [
        at - made_at[one.number]
        for at, one in enumerate(changes)
        if not one.size_bytes and at > len(changes) / 2
    ]
    a_turnover = len(changes) / aging.TURNOVERS
    young = sum(life < a_turnover / 5 for life in lives) / len(lives)
    old = sum(life > a_turnover for life in lives) / len(lives)
    assert young > 0.6 and old > 0.02


def test_a_file_system_is_aged_up_to_the_share_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks, used = (64 << 20) // 4096, 100
    space = SimpleNamespace(f_frsize=4096, f_blocks=blocks, f_bavail=blocks - used)
    monkeypatch.setattr(os, "statvfs", lambda _: space)
    run = Run(tmp_path / "run", Progress("none"), Stop())
    run.create()
    aging.age(run, FileSystem("ext4", aged_percent=50), tmp_path / "lab")
    files = [path for path in tmp_path.glob("old-*/*")]
    total = sum(path.stat().st_size for path in files)
    assert 0.45 < (total / 4096 + used) / blocks <= 0.5
    folders = Counter(path.parent for path in files)
    assert len(folders) == aging.FOLDERS
