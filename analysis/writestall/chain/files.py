# SPDX-License-Identifier: GPL-2.0-only
"""files: sum up stalled calls by what was called, and of which file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from writestall.events.contract import Write

# Rows that are named; the others are one row.
MOST_FILES = 5


def by_file(writes: Iterable[tuple[int, Write]]) -> dict[str, int]:
    """Stall time in ns of `14 fdatasync(2) of ib_logfile0`, largest first."""
    counts, sums = Counter[str](), Counter[str]()
    for _, write in writes:
        name = f"{write.name} {'to' if write.writes else 'of'} {write.path or '?'}"
        counts[name] += 1
        sums[name] += write.dur_ns
    rows = sums.most_common()
    found = {f"{counts[name]} {name}": ns for name, ns in rows[:MOST_FILES]}
    if others := rows[MOST_FILES:]:
        count = sum(counts[name] for name, _ in others)
        found[f"{count} others"] = sum(ns for _, ns in others)
    return found
