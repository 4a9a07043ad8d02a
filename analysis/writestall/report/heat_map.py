# SPDX-License-Identifier: GPL-2.0-only
"""heat_map: draw stalled writes, and all the client's writes, by time and latency.

A cell with stalled writes has a cause; others have only the number of the client's
writes.
"""

from __future__ import annotations

from collections.abc import Iterator
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


@dataclass(frozen=True, slots=True)
class Cell:
    """A range of time and latency; `x` and `middle` in percent, `y` in px.

    `key` is its name on the page, `words` describe it for its tooltip and for screen
    readers. `shade` is 0 to SHADES. `stalls` counts the stalled writes, `count` shows
    that where it fits, and `stall_ns` is the sum of their durations.
    """

    key: str
    x: float
    middle: float
    y: int
    shade: int
    stalls: int
    count: str
    stall_ns: int
    by_class: str
    by_root: str
    words: str


def key_of(place: Place) -> str:
    """A cell's name on the page."""
    return f"{place[0]}-{place[1]}"


@dataclass(frozen=True, slots=True)
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


def heat(found: HeatMap) -> Heat:
    """Draw the map."""
    most = max((cell.writes for cell in found.cells.values()), default=0).bit_length()
    places = sorted(found.cells, key=lambda place: (-place[1], place[0]))
    cells = [_drawn(found, place, most) for place in places]
    return Heat(found.grid, found.buckets, cells)


def _drawn(found: HeatMap, place: Place, most: int) -> Cell:
    """A cell; its colours are those of what took most of its stall time."""
    cell, columns = found.cells[place], found.grid.columns
    by_class = by_root = c.OTHER
    if cell.ns:
        ((by_class, _),) = cell.classes.most_common(1)
        ((root, _),) = cell.roots.most_common(1)
        by_root = root.cls
    digits = str(cell.stalls)
    return Cell(
        key=key_of(place),
        x=scales.share(place[0], columns),
        middle=scales.share(place[0] + 0.5, columns),
        # The slowest row is at the top.
        y=(found.buckets[-1] - place[1]) * ROW_PX,
        # Shades are on a log scale: a single write beside ten thousand stays visible.
        shade=max(1, cell.writes.bit_length() * SHADES // most) if cell.writes else 0,
        stalls=cell.stalls,
        count=digits if len(digits) * columns <= MOST_DIGITS else "",
        stall_ns=cell.ns,
        by_class=by_class,
        by_root=by_root,
        words=" ".join(_words(found.grid, place, cell)),
    )


def _words(grid: Grid, place: Place, cell: time_grid.Cell) -> Iterator[str]:
    start_s = place[0] * grid.column_s
    yield f"{start_s} to {start_s + grid.column_s} s, {scales.bounds(place[1])}:"
    if cell.stalls:
        calls = many(cell.stalls, "stalled write")
        yield f"{calls}, {ms(cell.ns)} in sum; {_causes(cell)}."
    if cell.writes:
        yield f"{many(cell.writes, 'write')} by the client's clock."


def _causes(cell: time_grid.Cell) -> str:
    """What most of its stall time was; empty for calls of no length."""
    if not cell.ns:
        return ""
    ((root, root_ns),) = cell.roots.most_common(1)
    waits = ", ".join(
        f"{percent(ns, cell.ns)} {name}"
        for name, ns in cell.classes.most_common(3)
        if ns >= LEAST_SHARE * cell.ns
    )
    return f"waited for {waits}; root {root!s} {percent(root_ns, cell.ns)}"
