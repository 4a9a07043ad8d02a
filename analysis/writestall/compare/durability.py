# SPDX-License-Identifier: GPL-2.0-only
"""durability: report what each option kept of its files when its machine was cut.

A comparison's `crash/OPTION/NUMBER/` has the result of `repro/crash check` after that
cut, on two files of numbered records (docs/durability.md): `plain`, never synced, and
`synced`. Comparisons of before have one cut, in `crash/OPTION.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from writestall_base import files
from writestall_base.kept_file import KeptFile
from writestall_base.units import many

CONFIDENCE = 0.95
NOT_SHOWN = (
    "No machine was cut, so what an option loses in a crash is not shown"
    " (--cut 45 shows it): data=writeback, no journal and tmpfs lose data."
)
HOW = (
    "Each option's machines were cut while they wrote to an equally slow disk, and"
    " another machine recovered the file system. Data that fsync(2) confirmed must be"
    " there; there is no guarantee for other data. tmpfs keeps nothing. A file system"
    " is damaged if its check finds faults after the repair of a boot. How often such a"
    " cut loses what fsync(2) confirmed is bounded with 95 % confidence (Clopper and"
    " Pearson, 1934); records are sums over all cuts."
)
HEADINGS = (
    *("cuts that lose what was fsynced", "of all such cuts", "damaged"),
    *("fsynced", "lost though fsynced", "torn next to them"),
    *("never synced", "lost", "torn", "lost time"),
)


# The file without fsync(2), the one with it, whether the disk's cache was volatile, and
# whether the file system was damaged after its repair.
Cut = tuple[KeptFile, KeptFile, bool, bool]


@dataclass(frozen=True, slots=True)
class Kept:
    """What an option kept of a file without, and of one with, fsync(2): sums over its
    `cuts`. In `losing` of them something was lost that fsync(2) had confirmed, which
    happens in a share of such cuts between `at_least` and `at_most`, 0 to 1. The disk
    lost writes that no flush followed if its cache was `volatile`. After `damaged` of
    the cuts the repair that a boot makes was not enough."""

    option: str
    cuts: int
    losing: int
    at_least: float
    at_most: float
    volatile: bool
    damaged: int
    plain: KeptFile
    synced: KeptFile

    @classmethod
    def of(cls, option: str, cuts: Sequence[Cut]) -> Kept:
        """The sums of an option's cuts."""
        plain, synced, volatile, damaged = zip(*cuts, strict=True)
        losing = sum(one.lost_synced > 0 for one in synced)
        # A loss that never happened is bounded from above alone.
        kind = "two-sided" if losing else "less"
        tested = stats.binomtest(losing, len(cuts), alternative=kind)
        share = tested.proportion_ci(CONFIDENCE, method="exact")
        ends = float(share.low), float(share.high)
        found = len(cuts), losing, *ends, all(volatile), sum(damaged)
        return cls(option, *found, _sum(plain), _sum(synced))

    @property
    def losing_cuts(self) -> str:
        """`0 of 20`."""
        return f"{self.losing} of {self.cuts}"

    @property
    def rate(self) -> str:
        """`at most 14 %`, `3 to 38 %`."""
        ends = (self.at_least, self.at_most)
        low, high = (f"{100 * end:.2g}" if end < 0.995 else "100" for end in ends)
        return f"{low} to {high} %" if self.losing else f"at most {high} %"

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a table's row, in the order of HEADINGS."""
        synced, plain = self.synced, self.plain
        lost_ms = plain.lost_ms
        counts = [synced.synced, synced.lost_synced, synced.torn]
        counts += [plain.written, plain.lost, plain.torn]
        lost_time = "all" if lost_ms is None else f"{lost_ms / 1000:.1f} s"
        found = (self.losing_cuts, self.rate, str(self.damaged))
        return (*found, *map(str, counts), lost_time)


def _sum(found: Sequence[KeptFile]) -> KeptFile:
    """Records of all cuts; the longest time that was lost."""
    names = ("written", "synced", "lost", "lost_synced", "torn")
    sums = {name: sum(getattr(one, name) for one in found) for name in names}
    times = [one.lost_ms for one in found if one.lost_ms is not None]
    return KeptFile(**sums, lost_ms=max(times) if len(times) == len(found) else None)


def read(options: Mapping[str, Path]) -> list[Kept]:
    """Read the results of these options, in their order, from their folders; skip
    unreadable ones."""
    found = []
    for name, folder in options.items():
        places = [folder.with_name(f"{folder.name}.json")]
        places += sorted(folder.glob("*/*.json"))
        if cuts := [cut for path in places for cut in _read(path)]:
            found.append(Kept.of(name, cuts))
    return found


def _read(path: Path) -> Iterator[Cut]:
    try:
        row = json.loads(files.content(path))
        both = KeptFile(**row["plain"]), KeptFile(**row["synced"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    yield (*both, "cache" in row, row.get("damage") is not None)


def verdict(kept: Sequence[Kept]) -> str:
    """State in a sentence which options lost synced data."""
    broken = [one for one in kept if one.losing]
    if not broken:
        options, cuts = many(len(kept), "option"), sum(one.cuts for one in kept)
        lost = f"None of {options} lost what fsync(2) had confirmed"
        cache = " of a volatile cache" if all(one.volatile for one in kept) else ""
        return f"{lost}, in {many(cuts, 'cut')}{cache}."
    losses = (
        f"{one.option} lost {one.synced.lost_synced} of"
        f" {many(one.synced.synced, 'record')} in {one.losing_cuts} cuts"
        for one in broken
    )
    return f"Lost though fsync(2) had confirmed it: {'; '.join(losses)}."
