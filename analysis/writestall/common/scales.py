# SPDX-License-Identifier: GPL-2.0-only
"""scales: buckets of latency, steps of time, and their labels."""

from __future__ import annotations

from bisect import bisect_left

US, MS, S = 1_000, 1_000_000, 1_000_000_000
# Upper edges of the buckets in ns, each one in its bucket: 1 us to 1000 s.
EDGES_NS = (
    *(step * 10**power for power in range(3, 12) for step in (1, 2, 5)),
    10**12,
)


def bucket_of(ns: int) -> int:
    """The number of a latency's bucket; what is longer than all edges is in the last.

    >>> EDGES_NS[bucket_of(3_000_000)]
    5000000
    """
    return min(bisect_left(EDGES_NS, ns), len(EDGES_NS) - 1)


def low(bucket: int) -> str:
    """Where a bucket begins: `200 ms`."""
    return label(EDGES_NS[bucket - 1]) if bucket else "0"


def bounds(bucket: int) -> str:
    """A bucket's range: `200 ms to 500 ms`."""
    return f"{low(bucket)} to {label(EDGES_NS[bucket])}"


def label(ns: float) -> str:
    """A round time in its own unit: `20 us`, `1.5 s`."""
    for unit_ns, unit in ((S, "s"), (MS, "ms"), (US, "us")):
        if ns >= unit_ns:
            return f"{ns / unit_ns:g} {unit}"
    return f"{ns:g} ns"


def quantile(percent: float) -> str:
    """The name of a quantile: `p99.9`, `max`."""
    return "max" if percent == 100 else f"p{percent:g}"


def step(span: float, most: int) -> int:
    """The smallest of 1, 2, 5, 10, ... that cuts the span into at most so many."""
    size = 1
    while True:
        for digit in (1, 2, 5):
            if span <= digit * size * most:
                return digit * size
        size *= 10


def ticks(span: float, most: int, unit: str = "s") -> list[tuple[float, str]]:
    """Round values from 0 to the span, at most so many: places in percent, labels."""
    values = range(0, int(span) + 1, step(span, most))
    return [(share(at, span), f"{at} {unit}") for at in values]


def share(part: float, whole: float) -> float:
    """A place on an axis, in percent with enough digits for a wide screen."""
    return round(100 * part / whole, 3) if whole else 0.0
