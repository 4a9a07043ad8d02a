# SPDX-License-Identifier: GPL-2.0-only
"""latency: read an HdrHistogram log: counts by second and latency, and a curve.

A write belongs to the interval of its intended start. Latencies in `writer.hlog` are
measured from there, those in `writer-service.hlog` from the call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from writestall.common.scales import EDGES_NS
from writestall.events.hlog import (
    DIGITS,
    HIGHEST_NS,
    intervals,
    lines,
    not_an_interval,
    start_of,
)
from writestall.events.lines import Problem

# Points of a curve per decade of rarity, and the most decades that are drawn.
STEPS, MOST_NINES = 20, 8


@dataclass(frozen=True, slots=True)
class Interval:
    """Writes by row of scales.EDGES_NS; times are seconds from the log's start."""

    start_s: float
    end_s: float
    counts: dict[int, int]


@dataclass(frozen=True, slots=True)
class Point:
    """`nines` is 1 for 90 %, 2 for 99 %: the rarity as a power of ten."""

    nines: float
    percentile: float
    latency_ns: int


@dataclass(slots=True)
class LatencyLog:
    """One log; `start_ns` is CLOCK_MONOTONIC, None if the log has none."""

    writes: int
    max_ns: int
    start_ns: int | None
    intervals: list[Interval]
    curve: list[Point]
    at: dict[float, int] = field(default_factory=dict)


# The percentiles of the table next to the curve.
TABLE = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)


def read_log(path: Path, problems: list[Problem]) -> LatencyLog | None:
    """Read a log; None if no interval could be read."""
    text = lines(path, problems)
    if not text:
        return None
    from hdrh.histogram import HdrHistogram

    total = HdrHistogram(1, HIGHEST_NS, DIGITS)
    spans = []
    for number, fields in intervals(text):
        try:
            start, length, *_, packed = fields
            start_s, length_s = _seconds(start), _seconds(length)
            one = HdrHistogram.decode(packed)
            total.add(one)
        except Exception as error:  # the decoder raises whatever zlib, ctypes raise
            problems.append(not_an_interval(path, number, error))
            continue
        spans.append(Interval(start_s, start_s + length_s, _by_row(one)))
    writes = total.get_total_count()
    if not writes:
        return None
    rarities = _rarities(writes)
    wanted = {nines: 100 * (1 - 10**-nines) for nines in rarities}
    at = total.get_percentile_to_value_dict([*wanted.values(), *TABLE])
    curve = [Point(nines, p, int(at[p])) for nines, p in wanted.items()]
    table = {p: int(at[p]) for p in TABLE}
    table[100.0] = total.get_max_value()
    return LatencyLog(writes, table[100.0], start_of(text), spans, curve, table)


def _seconds(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _by_row(histogram: Any) -> dict[int, int]:
    """Counts between the edges, from slices of the histogram's array."""
    counts = histogram.counts
    places = [
        min(histogram.get_counts_array_index(edge), len(counts)) for edge in EDGES_NS
    ]
    sums = [
        sum(counts[first:last])
        for first, last in zip(
            [0, *places[1:]], [*places[1:], len(counts)], strict=True
        )
    ]
    return {row: count for row, count in enumerate(sums) if count}


def _rarities(writes: int) -> list[float]:
    """Points of the curve, none rarer than one write of all."""
    most, points = 0, [0.0]
    while most < MOST_NINES and 10 ** (most + 1) <= writes:
        points += [most + at / STEPS for at in range(1, STEPS + 1)]
        most += 1
    return points
