# SPDX-License-Identifier: GPL-2.0-only
"""disk_io: count what the disks write for a workload, until its file system is clean.

The kernel's own counters (Documentation/block/stat.rst), which no injector changes.
What a file system writes late is counted: they are read once more after its unmount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from labrun.setup.disk import SYS_BLOCK, Disks
from writestall_base.steps import Run

SECTOR_BYTES = 512
# Places in /sys/class/block/NAME/stat (block/genhd.c, part_stat_show()). Flushes are
# there in 5.10, and not in 5.4.
WRITES, WRITTEN_SECTORS, FLUSHES = 4, 6, 15


@contextmanager
def counted(run: Run, disks: Disks) -> Iterator[Callable[[], None]]:
    """Count from the call of what is given until the end, for the manifest."""
    before: list[list[int]] = []

    def begin() -> None:
        before[:] = _stat(disks)

    yield begin
    if before:
        pairs = list(zip(before, _stat(disks), strict=True))
        run.manifest["disk_io"] = {
            "writes": _sum(pairs, WRITES),
            "written_bytes": _sum(pairs, WRITTEN_SECTORS) * SECTOR_BYTES,
            "flushes": _sum(pairs, FLUSHES) if len(before[0]) > FLUSHES else None,
        }


def _stat(disks: Disks) -> list[list[int]]:
    """The counters of each disk."""
    both = [disks.scratch] + ([disks.journal] if disks.journal else [])
    texts = [(SYS_BLOCK / disk.name / "stat").read_text() for disk in both]
    return [list(map(int, text.split())) for text in texts]


def _sum(pairs: list[tuple[list[int], list[int]]], place: int) -> int:
    return sum(after[place] - before[place] for before, after in pairs)
