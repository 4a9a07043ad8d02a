# SPDX-License-Identifier: GPL-2.0-only
"""buckets: the scale of latencies that pictures and metrics use: 1, 2, 5, 10, ..."""

from __future__ import annotations

from bisect import bisect_left

US, MS, S = 1_000, 1_000_000, 1_000_000_000
# Upper edges in ns, each one in its bucket: 1 us to 100 s.
EDGES_NS = (
    *(step * 10**power for power in range(3, 11) for step in (1, 2, 5)),
    10**11,
)
_UNITS = ((S, "s"), (MS, "ms"), (US, "us"))


def bucket_of(ns: int) -> int:
    """The number of a latency's bucket; what is longer than all edges is in the last.

    >>> EDGES_NS[bucket_of(3_000_000)]
    5000000
    """
    return min(bisect_left(EDGES_NS, ns), len(EDGES_NS) - 1)


def label(ns: int) -> str:
    """An edge in its own unit: `200 us`, `5 ms`, `1 s`."""
    for size, unit in _UNITS:
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns} ns"
