# SPDX-License-Identifier: GPL-2.0-only
"""aging: fill a new file system with small files and delete every other one.

Files of many sizes are written side by side until the file system is as full as
asked for, then every other one is deleted: free space is in pieces, and the
allocator's own metadata no longer fits into a block or two.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from labrun.scenario.keys import FileSystem
from writestall_base.steps import Run

FOLDERS = 16
SIZES_BYTES = (4096, 16_384, 65_536, 262_144, 1_048_576)
# statvfs(2) after each file would take longer than writing it.
CHECK_EVERY = 32


def age(run: Run, filesystem: FileSystem, beside: Path) -> None:
    """Age the mounted file system, in folders next to the workload's."""
    if not filesystem.aged_percent:
        return
    with run.step("age") as step:
        if filesystem.type == "tmpfs":
            step.skip("tmpfs has no layout to age")
            return
        made = _fill(run, beside.parent, filesystem.aged_percent)
        for path in made[::2]:
            path.unlink()
        os.sync()
        step.detail = f"{len(made)} files, every other one deleted"


def _fill(run: Run, top: Path, percent: int) -> list[Path]:
    """Write files until `percent` of the space is used; the same files every time."""
    draw, data = random.Random(percent), os.urandom(max(SIZES_BYTES))
    for number in range(FOLDERS):
        (top / f"old-{number}").mkdir()
    made: list[Path] = []
    while len(made) % CHECK_EVERY or _used_percent(top) < percent:
        run.stop.check()
        path = top / f"old-{len(made) % FOLDERS}/{len(made)}"
        path.write_bytes(data[: draw.choice(SIZES_BYTES)])
        made.append(path)
    return made


def _used_percent(top: Path) -> float:
    """Return the space in use; sync first, as dirty data may not be counted yet."""
    os.sync()
    space = os.statvfs(top)
    return 100 * (1 - space.f_bavail / space.f_blocks)
