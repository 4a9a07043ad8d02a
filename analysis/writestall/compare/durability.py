# SPDX-License-Identifier: GPL-2.0-only
"""durability: turns what options kept of their files in a cut into words.

A comparison's `crash/OPTION.json` is what `repro/crash check` found of two files of
numbered records (docs/durability.md): `plain`, never synced, and `synced`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from writestall.common.units import many

NOT_SHOWN = (
    "What an option loses in a crash is not shown here, for no machine was cut"
    " (CUT=45 make compare): data=writeback, no journal and tmpfs pay with that."
)
HOW = (
    "Each option's machine was reset once amid its writes, its disk as slow as above,"
    " and another one recovered the file system. What fsync(2) had confirmed must be"
    " there; of what nobody synced nothing was promised. tmpfs keeps nothing."
)
HEADINGS = (
    *("fsynced", "lost though fsynced", "torn beside them"),
    *("never synced", "lost", "torn", "lost time"),
)


@dataclass(frozen=True, slots=True)
class File:
    """What is left of a file, in records; fields as in `repro/labrun/crash/records.py`.

    `lost_ms` is how far back the file ends, None where nothing is left.
    """

    written: int
    synced: int
    lost: int
    lost_synced: int
    torn: int
    lost_ms: float | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What an option kept: a file nobody synced, and one that fsync(2) confirmed."""

    option: str
    plain: File
    synced: File

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of HEADINGS."""
        synced, plain = self.synced, self.plain
        lost_ms = plain.lost_ms
        counts = [synced.synced, synced.lost_synced, synced.torn]
        counts += [plain.written, plain.lost, plain.torn]
        lost_time = "all" if lost_ms is None else f"{lost_ms / 1000:.1f} s"
        return (*map(str, counts), lost_time)


def read(folder: Path, options: Sequence[str]) -> list[Kept]:
    """What of these options was shown, in their order; what cannot be read is left."""
    found = (_read(folder / "crash" / f"{name}.json", name) for name in options)
    return [kept for kept in found if kept]


def _read(path: Path, name: str) -> Kept | None:
    try:
        row = json.loads(path.read_bytes())
        return Kept(name, File(**row["plain"]), File(**row["synced"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def verdict(kept: Sequence[Kept]) -> str:
    """The promise in a sentence: who broke it, or that nobody did."""
    broken = [one for one in kept if one.synced.lost_synced]
    if not broken:
        return f"None of {many(len(kept), 'option')} lost what fsync(2) had confirmed."
    told = (
        f"{one.option} lost {one.synced.lost_synced} of"
        f" {many(one.synced.synced, 'record')}"
        for one in broken
    )
    return f"Lost though fsync(2) had confirmed it: {'; '.join(told)}."
