# SPDX-License-Identifier: GPL-2.0-only
"""time_grid: count a run's writes by time and latency, with the stalls' causes."""

from __future__ import annotations

from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.common.buckets import S, bucket_of
from writestall.common.errors import WritestallError
from writestall.events.hlog import read_log
from writestall.export.tables import main_class


@dataclass(slots=True)
class Cell:
    """A range of time and a bucket of latency; fields as in distribution.Row."""

    writes: int = 0
    stalled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells by (column, bucket). A column is `step_ns` long; the first one begins at
    `start_ns` (CLOCK_MONOTONIC). Buckets are indexes of EDGES_NS.
    """

    start_ns: int
    step_ns: int
    columns: int
    lowest: int
    highest: int
    cells: dict[tuple[int, int], Cell]


def heat_map(answer: Answer, most_columns: int) -> HeatMap:
    """Make a map of at most so many columns of whole seconds; raise without a stall."""
    if not answer.writes:
        raise WritestallError(f"{answer.run.path}: no write stalled, nothing to show")
    log = read_log(answer.run.path / "writer.hlog")
    first_ns = min(write.t_ns for _, write in answer.writes)
    start_ns = log.start_ns if log.start_ns is not None else first_ns
    points = [
        (start_ns + interval.start_ns, ns, count)
        for interval in log.intervals
        for ns, count in interval.counts.items()
    ]
    start_ns = min([first_ns, *(t_ns for t_ns, _, _ in points)])
    last_ns = max(
        [write.t_ns for _, write in answer.writes] + [t_ns for t_ns, _, _ in points]
    )
    seconds = (last_ns - start_ns) // S + 1
    step_ns = -(-seconds // most_columns) * S
    cells: dict[tuple[int, int], Cell] = {}
    for t_ns, ns, count in points:
        at = ((t_ns - start_ns) // step_ns, bucket_of(ns))
        cells.setdefault(at, Cell()).writes += count
    for chain in answer.chains:
        write, cls = chain.write, main_class(chain)
        at = ((write.t_ns - start_ns) // step_ns, bucket_of(write.dur_ns))
        stalled = cells.setdefault(at, Cell()).stalled
        stalled[cls] = stalled.get(cls, 0) + 1
    buckets = [bucket for _, bucket in cells]
    columns = (last_ns - start_ns) // step_ns + 1
    return HeatMap(start_ns, step_ns, columns, min(buckets), max(buckets), cells)
