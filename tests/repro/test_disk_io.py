# SPDX-License-Identifier: GPL-2.0-only
"""This test will count what disks wrote, from copies of their stat files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labrun.setup import disk_io
from labrun.setup.disk import Disk, Disks

# Documentation/block/stat.rst: reads, writes, discards, flushes, each with its times.
BEFORE = "10 0 80 3 5 1 400 9 0 7 12 0 0 0 0 2 4"
AFTER = "11 0 88 3 9 1 1424 9 0 7 12 0 0 0 0 5 8"


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disks:
    monkeypatch.setattr(disk_io, "SYS_BLOCK", tmp_path)
    both = [Disk(f"/dev/{name}", name, "254:0", 1 << 30) for name in ("vdb", "sda")]
    for disk in both:
        (tmp_path / disk.name).mkdir()
    put(tmp_path, BEFORE)
    return Disks(*both)


def put(folder: Path, text: str) -> None:
    for path in folder.iterdir():
        (path / "stat").write_text(f"   {text}\n")


def counted(disks: Disks, folder: Path, after: str) -> Any:
    run: Any = SimpleNamespace(manifest={"disk_io": None})
    with disk_io.counted(run, disks) as begin:
        begin()
        put(folder, after)
    return run.manifest["disk_io"]


def test_both_disks_are_counted_from_the_beginning(
    disks: Disks, tmp_path: Path
) -> None:
    found = counted(disks, tmp_path, AFTER)
    assert found == {"writes": 8, "written_bytes": 2 * 1024 * 512, "flushes": 6}


def test_a_kernel_that_counts_no_flushes_says_so(disks: Disks, tmp_path: Path) -> None:
    put(tmp_path, BEFORE.rsplit(" ", 2)[0])
    found = counted(disks, tmp_path, AFTER.rsplit(" ", 2)[0])
    assert found["written_bytes"] == 2 * 1024 * 512 and found["flushes"] is None


def test_a_run_that_fails_before_has_no_count(disks: Disks) -> None:
    run: Any = SimpleNamespace(manifest={"disk_io": None})
    with pytest.raises(OSError), disk_io.counted(run, disks):
        raise OSError
    with disk_io.counted(run, disks):
        pass
    assert run.manifest["disk_io"] is None
