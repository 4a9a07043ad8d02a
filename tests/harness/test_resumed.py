# SPDX-License-Identifier: GPL-2.0-only
"""This test will start two machines from one saved state, and look for what they must
not share: the time, random numbers, disks and folders."""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path

import pytest

from support import KERNELS, ON_DEMAND, Run

# The clock, random bytes, the size of a scratch disk and the folder's file.
SHOWS = (
    "date +%s; od -An -N16 -tx1 /dev/urandom | tr -d ' ';"
    " blockdev --getsize64 /dev/vdb; cat /mnt/own/file"
)
ACCELERATORS = ("tcg", "icount")
EVERY_PAIR = tuple(product(KERNELS, ACCELERATORS))
# Each kernel and each accelerator once, else.
PAIRS = EVERY_PAIR if ON_DEMAND else (EVERY_PAIR[0], EVERY_PAIR[-1])


@pytest.mark.parametrize(("kernel", "accelerator"), PAIRS)
def test_machines_of_one_state_are_not_the_same(
    machine: Run, kernel: str, accelerator: str, tmp_path: Path
) -> None:
    seen = []
    for size_gib in (1, 3):
        folder, result = tmp_path / f"own{size_gib}", tmp_path / f"{size_gib}.json"
        folder.mkdir()
        (folder / "file").write_text(f"{size_gib}\n")
        done = machine(
            *("-k", kernel, "--accel", accelerator, "--result", str(result)),
            *("--share", f"{folder}:/mnt/own", "--disk", f"{size_gib}G"),
            *("--", "sh", "-c", SHOWS),
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(result.read_text())["resumed"]
        time_s, random, size_bytes, own = done.stdout.split()
        assert abs(int(time_s) - time.time()) < 60
        assert (int(size_bytes), own) == (size_gib << 30, str(size_gib))
        seen.append(random)
    assert seen[0] != seen[1]
