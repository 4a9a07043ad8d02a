# SPDX-License-Identifier: GPL-2.0-only
"""side_by_side: draw the options' heat maps on one common scale."""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from writestall.common import scales
from writestall.compare.folder import Option
from writestall_base.units import many, ms

MOST_COLUMNS = 30
ROW_PX = 11
SHADES = 4
# Requests by column and row.
Place = tuple[int, int]
Grid = Counter[Place]


@dataclass(frozen=True, slots=True)
class Cell:
    """A range of time and latency. x and width in percent, y in px; `over` if one of
    its requests missed the objective."""

    x: float
    y: int
    width: float
    shade: int
    over: bool
    words: str


@dataclass(frozen=True, slots=True)
class Map:
    """One option's map; `note` is the line below its name."""

    name: str
    note: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Maps with common rows, columns and shades; labels of rows with places in px."""

    maps: list[Map]
    labels: list[tuple[int, str]]
    ticks: list[tuple[float, str]]
    height: int
    slo_y: float | None
    row_px: int = ROW_PX

    @property
    def full_height(self) -> int:
        """Px of a map and the axis below it."""
        return self.height + 22


def _grid(option: Option, column_s: int, slo_ns: int) -> tuple[Grid, Grid]:
    """Requests of all of an option's runs, and those over the objective."""
    counts, over = Grid(), Grid()
    for run in option.counted:
        for interval in run.requests.intervals:
            column = interval.start_ns // (column_s * scales.S)
            for ns, count in interval.counts.items():
                place = (column, scales.bucket_of(ns))
                counts[place] += count
                over[place] += count if ns > slo_ns else 0
        gc.collect(0)  # as in folder.py
    return counts, over


def side_by_side(options: Sequence[Option], duration_s: int, slo_ns: int) -> SideBySide:
    """Draw the maps in the order given; a shade is a number of requests per run."""
    column_s = scales.step(duration_s, MOST_COLUMNS)
    columns = -(-duration_s // column_s)
    grids = [_grid(option, column_s, slo_ns) for option in options]
    rows = [row for counts, _ in grids for _, row in counts]
    top, bottom = max(rows, default=0), min(rows, default=0)
    most = max(
        (
            count / len(option.counted)
            for option, (counts, _) in zip(options, grids, strict=True)
            for count in counts.values()
        ),
        default=1,
    )

    def cell(place: Place, count: int, over: int, runs: int) -> Cell:
        column, row = place
        missed = f", {over} of them over {ms(slo_ns)}" if over else ""
        return Cell(
            scales.share(column, columns),
            (top - row) * ROW_PX,
            scales.share(1, columns),
            _shade(count / runs, most),
            over > 0,
            f"{column * column_s} to {(column + 1) * column_s} s, "
            f"{scales.bounds(row)}: "
            f"{many(count, 'request')} in {many(runs, 'run')}{missed}",
        )

    maps = [
        Map(
            option.name,
            many(len(option.counted), "run"),
            [
                cell(place, counts[place], over[place], len(option.counted))
                for place in sorted(counts)
            ],
        )
        for option, (counts, over) in zip(options, grids, strict=True)
    ]
    height = (top - bottom + 1) * ROW_PX
    labels = [
        ((top - row + 1) * ROW_PX, scales.low(row))
        for row in range(bottom, top + 1)
        if row % 3 == 1  # 1, 10, 100, ...
    ]
    ticks = scales.ticks(duration_s, 3)
    return SideBySide(maps, labels, ticks, height, _line(slo_ns, top, height))


def _shade(count: float, most: float) -> int:
    """1 to SHADES on a log scale: a single request beside a thousand stays visible."""
    return max(1, round(SHADES * math.log1p(count) / math.log1p(most)))


def _line(slo_ns: int, top: int, height: int) -> float | None:
    """Px from the top to the objective; None outside the map."""
    row = scales.bucket_of(slo_ns)
    low, high = scales.EDGES_NS[max(row - 1, 0)], scales.EDGES_NS[row]
    part = math.log(slo_ns / low) / math.log(high / low) if high > low else 0.0
    y = (top - row + 1 - part) * ROW_PX
    return round(y, 1) if 0 < y < height else None
