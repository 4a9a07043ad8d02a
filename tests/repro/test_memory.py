# SPDX-License-Identifier: GPL-2.0-only
"""test_memory: set up swap and cgroup of a scenario's [memory], or refuse it."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_scenario import GOOD, parse, refusal, run

from labrun.setup import memory

LIMIT = "[memory]\nlimit_bytes = 16_777_216\n[kernel]"
ON_LOOP = '"tmpfs"\nloop = true'
IN_MEMORY = GOOD.replace("[kernel]", LIMIT, 1).replace('"ext4"', ON_LOOP, 1)
BAD = [
    (
        GOOD.replace("[kernel]", LIMIT, 1),
        "memory: ext4 uses the disk; only tmpfs leaves it to swap",
    ),
    (
        IN_MEMORY.replace(ON_LOOP, '"tmpfs"'),
        "filesystem.loop: want true: no rule delays a disk that is swap itself",
    ),
    (
        IN_MEMORY.replace("16_777_216", "4096"),
        "memory.limit_bytes: want 4194304 to 1099511627776 bytes, got 4096",
    ),
    (
        IN_MEMORY.replace("limit_bytes = 16_777_216", ""),
        "memory.limit_bytes: missing: of all writers together; the rest is"
        " swapped to the scratch disk, which carries nothing else",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_limit_gets_one_line(text: str, message: str) -> None:
    assert refusal(text) == f"x.toml: {message}"


def test_a_tmpfs_with_swap_can_have_it_on_a_loop_device() -> None:
    found = parse(IN_MEMORY)
    assert found.memory is not None
    assert found.memory.limit_bytes == 1 << 24


def test_dry_run_swaps_to_the_loop_device_and_mounts_none_of_it(tmp_path: Path) -> None:
    shown = run(
        "memory-reclaim", "--dry-run", "--disk", "/dev/null", "--build", str(tmp_path)
    )
    lines = shown.stdout.splitlines()
    assert lines[3:6] == [
        "mkswap /dev/loop0",
        "swapon --priority 32767 /dev/loop0",
        "mount -t tmpfs tmpfs MOUNTPOINT",
    ]
    assert "sh -c 'echo 6291456 >/sys/fs/cgroup/writestall/memory.max'" in shown.stdout


def test_a_machine_without_cgroups_shows_how_to_mount_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "CONTROLLERS", tmp_path / "cgroup.controllers")
    limit = parse(IN_MEMORY).memory
    (problem,) = memory.problems(limit)
    assert problem.endswith("mount -t cgroup2 cgroup2 /sys/fs/cgroup")
    (tmp_path / "cgroup.controllers").write_text("cpu io memory pids\n")
    assert not list(memory.problems(limit))
    assert not list(memory.problems(None))
