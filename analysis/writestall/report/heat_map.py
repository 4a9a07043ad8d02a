# SPDX-License-Identifier: GPL-2.0-only
"""heat_map: turns stalled writes, and all the client's writes, into cells of a map.

Columns are time, rows latency in steps of 1, 2, 5. A cell with stalled writes has a
cause; one with none has the number of the client's writes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from writestall.chain import tally
from writestall.chain.answers import Answer
from writestall.chain.columns import NAMES
from writestall.chain.roots import Root
from writestall.chain.sums import Sums
from writestall.chain.tally import Asked
from writestall.classify import classes as c
from writestall.common import scales
from writestall.common.units import many, ms, percent
from writestall.events.contract import Write
from writestall.report.latency import LatencyLog

MOST_COLUMNS = 48
ROW_PX = 18
SECOND_NS = 10**9
SHADES = 4
# Digits that fit into a row of cells, all columns together.
MOST_DIGITS = 60
# A cause of less than this share of a cell's time is not named.
WORTH_TELLING = 0.01


Place = tuple[int, int]


@dataclass(slots=True)
class Cell:
    """A stretch of time and of latency; `shade` is 0 to SHADES.

    `stalls` counts the stalled writes, `stall_ns` is their durations in sum.
    """

    column: int
    row: int
    writes: int = 0
    shade: int = 0
    stalls: int = 0
    stall_ns: int = 0
    by_class: str = ""
    by_root: str = ""
    causes: str = ""

    @property
    def key(self) -> str:
        """Its name on the page."""
        return _key((self.column, self.row))


def _key(place: Place) -> str:
    """A cell's name on the page."""
    return f"{place[0]}-{place[1]}"


@dataclass(frozen=True, slots=True)
class Grid:
    """Where a write stands on the map; `last_s` is the time it reaches to."""

    start_ns: int
    column_s: int
    last_s: float

    def place(self, write: Write) -> Place:
        """Column and row."""
        return self.column(self._at_s(write)), scales.row_of(write.dur_ns)

    def key(self, write: Write) -> str:
        """The name of its cell."""
        return _key(self.place(write))

    def column(self, at_s: float) -> int:
        """The column of a time."""
        return max(0, int(at_s // self.column_s))

    def _at_s(self, write: Write) -> float:
        return max(0, write.t_ns - self.start_ns) / SECOND_NS

    @property
    def asked(self) -> Asked:
        """What is to be counted for the map, and for the rest of the page."""
        return Asked(1, self.start_ns, self.column_s)


@dataclass(slots=True)
class _Stalled:
    """The stalled writes of a cell: how many, and their time in ns by cause."""

    count: int = 0
    ns: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    roots: Counter[Root] = field(default_factory=Counter)


def _stalled(sums: Sums) -> dict[Place, _Stalled]:
    """What was counted in each cell."""
    found: dict[Place, _Stalled] = {}
    questions = (tally.Q_CELL, tally.Q_CELL_CLASS, tally.Q_CELL_ROOT)
    for question, _, cell, answer, amount in sums.rows(*questions):
        stalled = found.setdefault(divmod(cell, tally.ROWS), _Stalled())
        if question == tally.Q_CELL_CLASS:
            stalled.classes[NAMES[answer]] += amount
        elif question == tally.Q_CELL_ROOT:
            stalled.roots[sums.root(answer)] += amount
        elif answer == tally.STALLS:
            stalled.count = amount
        else:
            stalled.ns = amount
    return found


@dataclass(slots=True)
class Heat:
    """The map. `rows` are shown from the slowest down; times are s from `start_ns`."""

    grid: Grid
    columns: int
    rows: range
    cells: list[Cell]
    row_px: int = ROW_PX

    @property
    def floor(self) -> int:
        """Px down to the time axis."""
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
        return scales.share(1, self.columns)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the time axis."""
        whole_s = self.columns * self.grid.column_s
        return [
            (scales.share(at, whole_s), f"{at} s") for at in scales.ticks(whole_s, 10)
        ]

    def count(self, cell: Cell) -> str:
        """How many stalled, where the number fits into the cell."""
        told = str(cell.stalls)
        return told if len(told) * self.columns <= MOST_DIGITS else ""

    def x(self, cell: Cell) -> float:
        """Its left edge, in percent."""
        return scales.share(cell.column, self.columns)

    def middle(self, cell: Cell) -> float:
        """Its middle, in percent."""
        return scales.share(cell.column + 0.5, self.columns)

    def y(self, cell: Cell) -> int:
        """Px down to its upper edge: the slowest row is the uppermost."""
        return (self.rows[-1] - cell.row) * ROW_PX

    def when(self, cell: Cell) -> str:
        """A cell's stretch of time."""
        start_s = cell.column * self.grid.column_s
        return f"{start_s} to {start_s + self.grid.column_s} s"

    def latency(self, cell: Cell) -> str:
        """A cell's stretch of latency."""
        return f"{scales.row_label(cell.row)} to {scales.row_label(cell.row + 1)}"

    def words(self, cell: Cell) -> str:
        """The cell in words: what a pointer, and a screen reader, are told."""
        told = [f"{self.when(cell)}, {self.latency(cell)}:"]
        if cell.stalls:
            calls = many(cell.stalls, "stalled write")
            told.append(f"{calls}, {ms(cell.stall_ns)} in sum; {cell.causes}.")
        if cell.writes:
            told.append(f"{many(cell.writes, 'write')} by the client's clock.")
        return " ".join(told)


def start_of(answer: Answer, log: LatencyLog | None) -> int:
    """Second 0 of the page: the client's start, else the run's, else the tracer's."""
    if log and log.start_ns is not None:
        return log.start_ns
    window = answer.run.get("window", "start_ns")
    if isinstance(window, int):
        return window
    begin = answer.stream.begin
    first = min((write.t_ns for _, write in answer.writes), default=0)
    return begin.t_ns if begin else first


def grid_of(answer: Answer, log: LatencyLog | None) -> Grid:
    """The whole map's grid, second 0 being the page's."""
    start_ns = start_of(answer, log)
    last_ns = max((write.t_ns for _, write in answer.writes), default=0) - start_ns
    spans = log.intervals if log else []
    last_s = max(
        [max(0, last_ns) / SECOND_NS] + [span.start_s for span in spans], default=0
    )
    return Grid(start_ns, scales.step(last_s + 1, MOST_COLUMNS), last_s)


def heat(answer: Answer, log: LatencyLog | None, grid: Grid) -> Heat:
    """The whole map."""
    cells: dict[Place, Cell] = {}
    for span in log.intervals if log else []:
        column = grid.column(span.start_s)
        for row, count in span.counts.items():
            cells.setdefault((column, row), Cell(column, row)).writes += count
    _shade(list(cells.values()))
    for place, stalled in _stalled(answer.counted_in(grid.asked)).items():
        cell = cells.setdefault(place, Cell(*place))
        cell.stalls, cell.stall_ns = stalled.count, stalled.ns
        _blame(cell, stalled.classes, stalled.roots)
    rows = [row for _, row in cells]
    shown = range(min(rows, default=0), max(rows, default=-1) + 1)
    columns = int(grid.last_s // grid.column_s) + 1
    ordered = sorted(cells.values(), key=lambda cell: (-cell.row, cell.column))
    return Heat(grid, columns, shown, ordered)


# Shades step by factors: one write beside ten thousand is still to be seen.
def _shade(cells: Sequence[Cell]) -> None:
    most = max((cell.writes for cell in cells), default=0).bit_length()
    for cell in cells:
        if cell.writes:
            cell.shade = max(1, cell.writes.bit_length() * SHADES // most)


def _blame(cell: Cell, classes: Counter[str], roots: Counter[Root]) -> None:
    """What most of the cell's stall time was waited for, and what it comes down to."""
    whole_ns = cell.stall_ns
    if not whole_ns:
        cell.by_class = cell.by_root = c.OTHER
        return
    cell.by_class = classes.most_common(1)[0][0]
    ((root, root_ns),) = roots.most_common(1)
    cell.by_root = root.cls
    told = [
        f"{percent(ns, whole_ns)} {name}"
        for name, ns in classes.most_common(3)
        if ns >= WORTH_TELLING * whole_ns
    ]
    share = percent(root_ns, whole_ns)
    cell.causes = f"waited for {', '.join(told)}; root {root!s} {share}"
