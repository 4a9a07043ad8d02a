# SPDX-License-Identifier: GPL-2.0-only
"""heat_map: map stalled writes, and all the client's writes, by time and latency.

Columns are time, rows latency in steps of 1, 2, 5. A cell with stalled writes has a
cause; others have only the number of the client's writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.chain.collect import Question, Source
from writestall.chain.parts import Chain
from writestall.chain.roots import Root
from writestall.classify import classes as c
from writestall.common import scales
from writestall.common.units import many, ms, percent
from writestall.events.contract import Write
from writestall.report.latency import LatencyLog

MOST_COLUMNS = 48
ROW_PX = 18
SECOND_NS = 10**9
SHADES = 4
# Digits that fit into a row of cells, in all columns together.
MOST_DIGITS = 60
# A cause of less than this share of a cell's time is not named.
LEAST_SHARE = 0.01


Place = tuple[int, int]


@dataclass(slots=True)
class Cell:
    """A range of time and latency; `shade` is 0 to SHADES.

    `stalls` counts the stalled writes, `stall_ns` is the sum of their durations.
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
    """Maps a write to its cell; `last_s` is the end of the map."""

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
    def causes(self) -> Question[_Causes]:
        """What stall time was waited for, cell by cell."""
        return Question(_Causes, (self,))


@dataclass(slots=True)
class _Stalled:
    """The stalled writes of a cell: how many, and their time in ns by cause."""

    count: int = 0
    ns: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    roots: Counter[Root] = field(default_factory=Counter)


@dataclass(slots=True)
class _Causes:
    """A collector: the stalled writes of each cell."""

    grid: Grid
    cells: dict[Place, _Stalled] = field(default_factory=dict)

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""
        write = chain.write
        cell = self._cell(self.grid.place(write))
        cell.count += 1
        cell.ns += write.dur_ns
        for part in chain.parts:
            cell.classes[part.cls] += part.dur_ns
        for root, ns in source.roots.of(chain).items():
            cell.roots[root] += ns

    def _cell(self, place: Place) -> _Stalled:
        cell = self.cells.get(place)
        if cell is None:
            cell = self.cells[place] = _Stalled()
        return cell

    def close(self) -> None:
        """Nothing is left to do."""

    def join(self, other: _Causes) -> None:
        """Takes in those of later chains."""
        for place, more in other.cells.items():
            cell = self._cell(place)
            cell.count += more.count
            cell.ns += more.ns
            cell.classes.update(more.classes)
            cell.roots.update(more.roots)


@dataclass(slots=True)
class Heat:
    """The map. `rows` are drawn from the slowest down; times are s from `start_ns`."""

    grid: Grid
    columns: int
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
        return scales.share(1, self.columns)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the time axis."""
        whole_s = self.columns * self.grid.column_s
        return [
            (scales.share(at, whole_s), f"{at} s") for at in scales.ticks(whole_s, 10)
        ]

    def count(self, cell: Cell) -> str:
        """The number of stalled writes, if it fits into the cell."""
        digits = str(cell.stalls)
        return digits if len(digits) * self.columns <= MOST_DIGITS else ""

    def x(self, cell: Cell) -> float:
        """Its left edge, in percent."""
        return scales.share(cell.column, self.columns)

    def middle(self, cell: Cell) -> float:
        """Its middle, in percent."""
        return scales.share(cell.column + 0.5, self.columns)

    def y(self, cell: Cell) -> int:
        """Px from the top to its upper edge; the slowest row is at the top."""
        return (self.rows[-1] - cell.row) * ROW_PX

    def when(self, cell: Cell) -> str:
        """A cell's range of time."""
        start_s = cell.column * self.grid.column_s
        return f"{start_s} to {start_s + self.grid.column_s} s"

    def latency(self, cell: Cell) -> str:
        """A cell's range of latency."""
        return f"{scales.row_label(cell.row)} to {scales.row_label(cell.row + 1)}"

    def words(self, cell: Cell) -> str:
        """Describe the cell, for its tooltip and for screen readers."""
        words = [f"{self.when(cell)}, {self.latency(cell)}:"]
        if cell.stalls:
            calls = many(cell.stalls, "stalled write")
            words.append(f"{calls}, {ms(cell.stall_ns)} in sum; {cell.causes}.")
        if cell.writes:
            words.append(f"{many(cell.writes, 'write')} by the client's clock.")
        return " ".join(words)


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
    """The map's grid; its second 0 is the page's."""
    start_ns = start_of(answer, log)
    last_ns = max((write.t_ns for _, write in answer.writes), default=0) - start_ns
    spans = log.intervals if log else []
    last_s = max(
        [max(0, last_ns) / SECOND_NS] + [span.start_s for span in spans], default=0
    )
    return Grid(start_ns, scales.step(last_s + 1, MOST_COLUMNS), last_s)


def heat(answer: Answer, log: LatencyLog | None, grid: Grid) -> Heat:
    """Draw the map."""
    cells: dict[Place, Cell] = {}
    for span in log.intervals if log else []:
        column = grid.column(span.start_s)
        for row, count in span.counts.items():
            cells.setdefault((column, row), Cell(column, row)).writes += count
    _shade(list(cells.values()))
    for place, stalled in answer.gathered(grid.causes).cells.items():
        cell = cells.setdefault(place, Cell(*place))
        cell.stalls, cell.stall_ns = stalled.count, stalled.ns
        _set_causes(cell, stalled.classes, stalled.roots)
    rows = [row for _, row in cells]
    shown = range(min(rows, default=0), max(rows, default=-1) + 1)
    columns = int(grid.last_s // grid.column_s) + 1
    ordered = sorted(cells.values(), key=lambda cell: (-cell.row, cell.column))
    return Heat(grid, columns, shown, ordered)


# Shades are on a log scale: a single write beside ten thousand stays visible.
def _shade(cells: Sequence[Cell]) -> None:
    most = max((cell.writes for cell in cells), default=0).bit_length()
    for cell in cells:
        if cell.writes:
            cell.shade = max(1, cell.writes.bit_length() * SHADES // most)


def _set_causes(cell: Cell, classes: Counter[str], roots: Counter[Root]) -> None:
    """Set the classes and the root with most of the cell's stall time."""
    whole_ns = cell.stall_ns
    if not whole_ns:
        cell.by_class = cell.by_root = c.OTHER
        return
    cell.by_class = classes.most_common(1)[0][0]
    ((root, root_ns),) = roots.most_common(1)
    cell.by_root = root.cls
    classes_text = [
        f"{percent(ns, whole_ns)} {name}"
        for name, ns in classes.most_common(3)
        if ns >= LEAST_SHARE * whole_ns
    ]
    share = percent(root_ns, whole_ns)
    cell.causes = f"waited for {', '.join(classes_text)}; root {root!s} {share}"
