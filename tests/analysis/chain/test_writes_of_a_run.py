# SPDX-License-Identifier: GPL-2.0-only
"""This test will distinguish writes to the run's file system from others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import build
from writestall.chain.answers import answer
from writestall.events.run_directory import open_run

DISK = {"name": "vdb", "dev": "254:16", "size_bytes": 1 << 30}
NOTE = "1 stalled call on other disks left out; explain --all shows them"


@pytest.mark.parametrize(
    ("filesystem", "own", "others"),
    [
        ({"type": "ext4"}, "254:16", "254:32"),
        ({"type": "btrfs", "dev": "0:36"}, "0:36", "254:32"),
        ({"type": "btrfs", "dev": "0:36"}, "0:36", "254:16"),
        ({"type": "tmpfs", "dev": "0:40"}, None, "254:32"),
    ],
)
def test_writes_to_others_are_left_out(
    filesystem: dict[str, Any], own: str | None, others: str, tmp_path: Path
) -> None:
    found = _answer(filesystem, (own, others), tmp_path)
    assert [write.dev for _, write in found.writes] == [own]
    assert NOTE in found.notes


def test_those_to_no_disk_are_not_counted(tmp_path: Path) -> None:
    """9p, on which the lab itself writes the run; tracefs."""
    found = _answer({"type": "ext4"}, ("254:16", "0:29"), tmp_path)
    assert [write.dev for _, write in found.writes] == ["254:16"]
    assert not any("other disks" in note for note in found.notes)


@pytest.mark.parametrize(
    ("comm", "call"),
    [
        ("bpftrace", "write"),
        ("stapio", "write"),
        ("stalled-writes", "write"),
        ("python3", "page_fault"),
    ],
)
def test_those_of_the_lab_are_not_counted(comm: str, call: str, tmp_path: Path) -> None:
    """Their programs and libraries are on the system's disk."""
    events = build.Events()
    events.write(200, 20000, 90, 80, dev="254:16")
    events.write(201, 20000, 90, 80, dev="254:0", comm=comm, call=call)
    run = build.run_dir(
        tmp_path / "run", events.end(), device=DISK, filesystem={"type": "ext4"}
    )
    found = answer(open_run(run), None)
    assert [write.dev for _, write in found.writes] == ["254:16"]
    assert not any("other disks" in note for note in found.notes)


def test_all_are_shown_where_the_number_is_not_known(tmp_path: Path) -> None:
    """A manifest that does not record the file system's number."""
    found = _answer({"type": "btrfs"}, ("0:36", "0:29"), tmp_path)
    assert [write.dev for _, write in found.writes] == ["0:36", "0:29"]
    assert not any("left out; explain" in note for note in found.notes)


def test_none_is_shown_where_all_are_to_others(tmp_path: Path) -> None:
    found = _answer({"type": "btrfs", "dev": "0:36"}, ("254:32",), tmp_path)
    assert found.writes == []
    assert NOTE in found.notes


def _answer(
    filesystem: dict[str, Any], devs: tuple[str | None, ...], folder: Path
) -> Any:
    """The answer for a run with a stalled write to each of these."""
    events = build.Events()
    for tid, dev in enumerate(devs, 200):
        events.write(tid, 100 * tid, 90, 80, dev=dev)
    run = build.run_dir(
        folder / "run", events.end(), device=DISK, filesystem=filesystem
    )
    return answer(open_run(run), None)
