# SPDX-License-Identifier: GPL-2.0-only
"""heat_map: draw stalled writes, and all the client's writes, by time and latency.

A cell with stalled writes has a cause; others have only the number of the client's
writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from writestall.common import scales
from writestall.pictures import time_grid
from writestall.pictures.time_grid import Grid, HeatMap, Place
from writestall_base import wait_classes as c
from writestall_base.units import many, ms, percent

MOST_COLUMNS = 48
ROW_PX = 18
SHADES = 4
# Digits that fit into a row of cells, in all columns together.
MOST_DIGITS = 60
# A cause of less than this share of a cell's time is not named.
LEAST_SHARE = 0.01


@dataclass(slots=True)
class Cell:
    """A range of time and latency; `shade` is 0 to SHADES.

    `stalls` counts the stalled writes, `stall_ns` is the sum of their durations.
    """

    column: int
    bucket: int
    writes: int
    shade: int
    stalls: int
    stall_ns: int
    by_class: str
    by_root: str
    causes: str

    @property
    def key(self) -> str:
        """Its name on the page."""
        return key_of((self.column, self.bucket))


def key_of(place: Place) -> str:
    """A cell's name on the page."""
    return f"{place[0]}-{place[1]}"


@dataclass(slots=True)
class Heat:
    """The map. `rows` are drawn from the slowest down."""

    grid: Grid
    rows: range
    cells: list[Cell]
    row_px: int = ROW_PX

    @property
    def floor(self) -> int:
        """Px from the top to the time axis."""
        return len(self.rows) * ROW_PX

    @property
    def height(self) -> int:
        """Px of the map and its axis."""
        return self.floor + 22

    @property
    def first(self) -> str | None:
        """The slowest cell with a chain: where the keyboard enters the map."""
        return next((cell.key for cell in self.cells if cell.stalls), None)

    @property
    def lines(self) -> range:
        """Px of the lines between the rows."""
        return range(0, self.floor + 1, ROW_PX)

    @property
    def width(self) -> float:
        """A column's width, in percent."""
        return scales.share(1, self.grid.columns)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the time axis."""
        return scales.ticks(self.grid.columns * self.grid.column_s, 10)

    def count(self, cell: Cell) -> str:
        """The number of stalled writes, if it fits into the cell."""
        digits = str(cell.stalls)
        return digits if len(digits) * self.grid.columns <= MOST_DIGITS else ""

    def x(self, cell: Cell) -> float:
        """Its left edge, in percent."""
        return scales.share(cell.column, self.grid.columns)

    def middle(self, cell: Cell) -> float:
        """Its middle, in percent."""
        return scales.share(cell.column + 0.5, self.grid.columns)

    def y(self, cell: Cell) -> int:
        """Px from the top to its upper edge; the slowest row is at the top."""
        return (self.rows[-1] - cell.bucket) * ROW_PX

    def words(self, cell: Cell) -> str:
        """Describe the cell, for its tooltip and for screen readers."""
        start_s = cell.column * self.grid.column_s
        when = f"{start_s} to {start_s + self.grid.column_s} s"
        words = [f"{when}, {scales.bounds(cell.bucket)}:"]
        if cell.stalls:
            calls = many(cell.stalls, "stalled write")
            words.append(f"{calls}, {ms(cell.stall_ns)} in sum; {cell.causes}.")
        if cell.writes:
            words.append(f"{many(cell.writes, 'write')} by the client's clock.")
        return " ".join(words)


def heat(found: HeatMap) -> Heat:
    """Draw the map."""
    most = max((cell.writes for cell in found.cells.values()), default=0).bit_length()
    cells = [_drawn(place, cell, most) for place, cell in found.cells.items()]
    cells.sort(key=lambda cell: (-cell.bucket, cell.column))
    return Heat(found.grid, found.buckets, cells)


def _drawn(place: Place, cell: time_grid.Cell, most: int) -> Cell:
    """A cell's colour and words; its causes are those of most of its stall time."""
    # Shades are on a log scale: a single write beside ten thousand stays visible.
    shade = max(1, cell.writes.bit_length() * SHADES // most) if cell.writes else 0
    by_class, by_root, causes = "", "", ""
    if cell.stalls:
        by_class = by_root = c.OTHER
    if cell.ns:
        by_class = cell.classes.most_common(1)[0][0]
        ((root, root_ns),) = cell.roots.most_common(1)
        by_root = root.cls
        share = percent(root_ns, cell.ns)
        waits = ", ".join(_shares(cell.classes.most_common(3), cell.ns))
        causes = f"waited for {waits}; root {root!s} {share}"
    return Cell(
        *place, cell.writes, shade, cell.stalls, cell.ns, by_class, by_root, causes
    )


def _shares(sums: Iterable[tuple[str, int]], whole_ns: int) -> list[str]:
    return [
        f"{percent(ns, whole_ns)} {name}"
        for name, ns in sums
        if ns >= LEAST_SHARE * whole_ns
    ]
