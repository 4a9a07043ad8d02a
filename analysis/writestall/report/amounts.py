# SPDX-License-Identifier: GPL-2.0-only
"""amounts: round a chain's parts so that they add up, in text and picture alike."""

from __future__ import annotations

from collections.abc import Sequence

from writestall.chain.merge import grouped
from writestall.chain.parts import Part
from writestall_base.units import MS_NS, shares


def unit_of(dur_ns: int) -> int:
    """One unit in ns for a whole chain, so that its numbers add up."""
    return MS_NS if dur_ns >= 100 * MS_NS else MS_NS // 100


def amount(units: int, unit_ns: int) -> str:
    """`298 ms`, `4.12 ms`."""
    return f"{units} ms" if unit_ns == MS_NS else f"{units * unit_ns / 1e6:.2f} ms"


def amounts(parts: Sequence[Part], dur_ns: int) -> dict[int, str]:
    """What each part of a chain took, by its id(): those of one line of text add up."""
    unit_ns = unit_of(dur_ns)
    units: dict[int, int] = {}
    _deal(parts, round(dur_ns / unit_ns), units)
    short = f"<{amount(1, unit_ns)}"
    return {
        key: amount(count, unit_ns) if count else short for key, count in units.items()
    }


def _deal(parts: Sequence[Part], total: int, units: dict[int, int]) -> None:
    """Deal `total` units out, first to the lines of the text, then to their parts."""
    groups = [(_sum_ns(group), group) for group in grouped(parts)]
    groups.sort(key=lambda row: row[0], reverse=True)
    sums = [ns for ns, _ in groups]
    dealt = shares(sum(sums), sums, total)
    for (ns, group), count in zip(groups, dealt, strict=True):
        own = shares(ns, [part.dur_ns for part in group], count)
        units.update(zip(map(id, group), own, strict=True))
        below = [inner for part in group for inner in part.parts]
        if below:
            _deal(below, count, units)


def _sum_ns(parts: Sequence[Part]) -> int:
    return sum(part.dur_ns for part in parts)
