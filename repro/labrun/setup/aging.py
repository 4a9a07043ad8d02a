# SPDX-License-Identifier: GPL-2.0-only
"""aging: age a new file system by a churn of files.

Files are made until the file system is as full as asked for, and older ones give way to
new ones from then on, until several times of what it holds has been made. Free space
is then in the pieces that files of many ages have left.

Sizes are lognormal with the parameters that Agrawal et al. found for desktop computers
("Generating Realistic Impressions for File-System Benchmarking", FAST 2009, without the
tail above 512 MB). Lifetimes, in bytes made since, are our model: of what is made once
the space is full, most files die young. A file is deleted when its space is needed, the
one whose time comes first before others.
Blocks are allocated by fallocate(2), not written: their data changes no layout, and
would take most of the time.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path

from labrun.scenario.keys import FileSystem
from writestall_base.steps import Run

FOLDERS = 16
BLOCK_BYTES = 4096
SIZE_MU, SIZE_SIGMA = 9.48, 2.46  # of ln(bytes)
LARGEST = 1 / 64  # file, as a share of what is filled
TURNOVERS = 3  # the first one fills it
# The share of files that live short, and the mean lives, in turnovers. The mean of all
# is one turnover, as it has to be where the space stays full.
YOUNG, SHORT_LIFE = 0.8, 0.02
LONG_LIFE = (1 - YOUNG * SHORT_LIFE) / (1 - YOUNG)
CHECK_EVERY = 32


@dataclass(frozen=True)
class Change:
    """A file to be made with that many bytes, or to be deleted (0)."""

    number: int
    size_bytes: int


def age(run: Run, filesystem: FileSystem, beside: Path) -> None:
    """Age the mounted file system, in folders next to the workload's."""
    if not filesystem.aged_percent:
        return
    with run.step("age") as step:
        if filesystem.type == "tmpfs":
            step.skip("tmpfs has no layout to age")
            return
        top = beside.parent
        for number in range(FOLDERS):
            (top / f"old-{number}").mkdir()
        fill_bytes = _fill_bytes(top, filesystem.aged_percent)
        made = deleted = 0
        for change in churn(fill_bytes, filesystem.aged_percent):
            if (made + deleted) % CHECK_EVERY == 0:
                run.stop.check()
            _carry_out(top, change)
            made += change.size_bytes > 0
            deleted += change.size_bytes == 0
        os.sync()
        step.detail = f"{made} files made, {deleted} deleted"


def churn(fill_bytes: int, seed: int) -> Iterator[Change]:
    """The changes in their order, the same for a seed: `fill_bytes` are never exceeded,
    and are reached but for one file."""
    draw = random.Random(seed)
    dying: list[tuple[float, Change]] = []
    now = held = number = 0
    while now < TURNOVERS * fill_bytes:
        size = _size_bytes(draw, fill_bytes)
        while held + size > fill_bytes:
            _, dead = heappop(dying)
            held -= dead.size_bytes
            yield Change(dead.number, 0)
        made = Change(number, size)
        young = now >= fill_bytes and draw.random() < YOUNG
        life = fill_bytes * (SHORT_LIFE if young else LONG_LIFE)
        heappush(dying, (now + draw.expovariate(1 / life), made))
        yield made
        now, held, number = now + size, held + size, number + 1


def _size_bytes(draw: random.Random, fill_bytes: int) -> int:
    """The size of a file in whole blocks, one at least."""
    drawn = min(draw.lognormvariate(SIZE_MU, SIZE_SIGMA), LARGEST * fill_bytes)
    return max(1, round(drawn / BLOCK_BYTES)) * BLOCK_BYTES


def _fill_bytes(top: Path, percent: int) -> int:
    """What is missing until `percent` of the space is used."""
    os.sync()
    space = os.statvfs(top)
    used = space.f_blocks - space.f_bavail
    return space.f_frsize * (space.f_blocks * percent // 100 - used)


def _carry_out(top: Path, change: Change) -> None:
    path = top / f"old-{change.number % FOLDERS}/{change.number}"
    if not change.size_bytes:
        path.unlink()
        return
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.posix_fallocate(file, 0, change.size_bytes)
    finally:
        os.close(file)
