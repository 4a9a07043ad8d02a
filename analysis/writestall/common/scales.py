# SPDX-License-Identifier: GPL-2.0-only
"""scales: choose steps and labels for ranges of time and latency."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

# Latency in steps of 1, 2, 5: 1 us to 500 s, as row numbers 0, 1, 2, ...
EDGES_NS = tuple(digit * 10**power for power in range(3, 12) for digit in (1, 2, 5))


def row_of(latency_ns: int) -> int:
    """The row of a latency; what lies outside belongs to the first or last."""
    return max(0, bisect_right(EDGES_NS, latency_ns) - 1)


def row_label(row: int) -> str:
    """Where a row begins: `200 ms`."""
    return short(EDGES_NS[row]) if row < len(EDGES_NS) else short(10**12)


def short(ns: float) -> str:
    """A round time in its own unit: `20 us`, `1.5 s`."""
    for unit_ns, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs")):
        if ns >= unit_ns:
            return f"{ns / unit_ns:g} {unit}"
    return f"{ns:g} ns"


def step(span: float, most: int) -> int:
    """The smallest of 1, 2, 5, 10, ... that cuts the span into at most so many."""
    size = 1
    while True:
        for digit in (1, 2, 5):
            if span <= digit * size * most:
                return digit * size
        size *= 10


def ticks(span: float, most: int) -> Iterator[int]:
    """Round values from 0 to the span."""
    size = step(span, most)
    yield from range(0, int(span) + 1, size)


def share(part: float, whole: float) -> float:
    """A place on an axis, in percent with enough digits for a wide screen."""
    return round(100 * part / whole, 3) if whole else 0.0
