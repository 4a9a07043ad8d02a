# SPDX-License-Identifier: GPL-2.0-only
"""durability: report what each option kept of its files after a crash.

A comparison's `crash/OPTION.json` is the result of `repro/crash check` on two files of
numbered records (docs/durability.md): `plain`, never synced, and `synced`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from writestall_base import files
from writestall_base.kept_file import KeptFile
from writestall_base.units import many

NOT_SHOWN = (
    "No machine was reset, so what an option loses in a crash is not shown"
    " (CUT=45 make compare shows it): data=writeback, no journal and tmpfs lose data."
)
HOW = (
    "Each option's machine was reset once while it wrote to an equally slow disk, and"
    " another machine recovered the file system. Data that fsync(2) confirmed must be"
    " there; there is no guarantee for other data. tmpfs keeps nothing."
)
HEADINGS = (
    *("fsynced", "lost though fsynced", "torn next to them"),
    *("never synced", "lost", "torn", "lost time"),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What an option kept of a file without, and of one with, fsync(2)."""

    option: str
    plain: KeptFile
    synced: KeptFile

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a table's row, in the order of HEADINGS."""
        synced, plain = self.synced, self.plain
        lost_ms = plain.lost_ms
        counts = [synced.synced, synced.lost_synced, synced.torn]
        counts += [plain.written, plain.lost, plain.torn]
        lost_time = "all" if lost_ms is None else f"{lost_ms / 1000:.1f} s"
        return (*map(str, counts), lost_time)


def read(folder: Path, options: Sequence[str]) -> list[Kept]:
    """Read the results of these options, in their order; skip unreadable ones."""
    found = (_read(folder / "crash" / f"{name}.json", name) for name in options)
    return [kept for kept in found if kept]


def _read(path: Path, name: str) -> Kept | None:
    try:
        row = json.loads(files.content(path))
        return Kept(name, KeptFile(**row["plain"]), KeptFile(**row["synced"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def verdict(kept: Sequence[Kept]) -> str:
    """State in a sentence which options lost synced data."""
    broken = [one for one in kept if one.synced.lost_synced]
    if not broken:
        return f"None of {many(len(kept), 'option')} lost what fsync(2) had confirmed."
    losses = (
        f"{one.option} lost {one.synced.lost_synced} of"
        f" {many(one.synced.synced, 'record')}"
        for one in broken
    )
    return f"Lost though fsync(2) had confirmed it: {'; '.join(losses)}."
