# SPDX-License-Identifier: GPL-2.0-only
"""heat: turns stalled writes, and all the client's writes, into cells of a map.

Columns are time, rows latency in steps of 1, 2, 5. A cell with stalled writes has a
cause; one with none has the number of the client's writes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from writestall import axes
from writestall import classes as c
from writestall.latency import LatencyLog
from writestall.model import Answer
from writestall.parts import Chain
from writestall.units import many, ms, percent

MOST_COLUMNS = 48
ROW_PX = 18
SECOND_NS = 10**9
SHADES = 4
# Digits that fit into a row of cells, all columns together.
MOST_DIGITS = 60
# A cause of less than this share of a cell's time is not named.
WORTH_TELLING = 0.01


@dataclass(slots=True)
class Cell:
    """A stretch of time and of latency; `shade` is 0 to SHADES, `main` the causes."""

    column: int
    row: int
    writes: int = 0
    shade: int = 0
    chains: list[Chain] = field(default_factory=list)
    by_class: str = ""
    by_root: str = ""
    causes: str = ""

    @property
    def key(self) -> str:
        """Its name on the page."""
        return f"{self.column}-{self.row}"

    @property
    def stall_ns(self) -> int:
        """Its stalled writes' durations in sum."""
        return sum(chain.write.dur_ns for chain in self.chains)


@dataclass(slots=True)
class Heat:
    """The map. `rows` are shown from the slowest down; times are s from `start_ns`."""

    start_ns: int
    column_s: int
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
        return next((cell.key for cell in self.cells if cell.chains), None)

    @property
    def lines(self) -> range:
        """Px of the lines between the rows."""
        return range(0, self.floor + 1, ROW_PX)

    @property
    def width(self) -> float:
        """A column's width, in percent."""
        return axes.share(1, self.columns)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the time axis."""
        whole_s = self.columns * self.column_s
        return [(axes.share(at, whole_s), f"{at} s") for at in axes.ticks(whole_s, 10)]

    def count(self, cell: Cell) -> str:
        """How many stalled, where the number fits into the cell."""
        told = str(len(cell.chains))
        return told if len(told) * self.columns <= MOST_DIGITS else ""

    def x(self, cell: Cell) -> float:
        """Its left edge, in percent."""
        return axes.share(cell.column, self.columns)

    def middle(self, cell: Cell) -> float:
        """Its middle, in percent."""
        return axes.share(cell.column + 0.5, self.columns)

    def y(self, cell: Cell) -> int:
        """Px down to its upper edge: the slowest row is the uppermost."""
        return (self.rows[-1] - cell.row) * ROW_PX

    def when(self, cell: Cell) -> str:
        """A cell's stretch of time."""
        start_s = cell.column * self.column_s
        return f"{start_s} to {start_s + self.column_s} s"

    def latency(self, cell: Cell) -> str:
        """A cell's stretch of latency."""
        return f"{axes.row_label(cell.row)} to {axes.row_label(cell.row + 1)}"

    def words(self, cell: Cell) -> str:
        """The cell in words: what a pointer, and a screen reader, are told."""
        told = [f"{self.when(cell)}, {self.latency(cell)}:"]
        if cell.chains:
            calls = many(len(cell.chains), "stalled write")
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
    first = min((chain.write.t_ns for chain in answer.chains), default=0)
    return begin.t_ns if begin else first


def heat(answer: Answer, log: LatencyLog | None, start_ns: int) -> Heat:
    """The whole map."""
    spans = log.intervals if log else []
    starts = [max(0, chain.write.t_ns - start_ns) for chain in answer.chains]
    last_s = max(
        [at_ns / SECOND_NS for at_ns in starts] + [span.start_s for span in spans],
        default=0,
    )
    column_s = axes.step(last_s + 1, MOST_COLUMNS)
    cells: dict[tuple[int, int], Cell] = {}

    def cell(at_s: float, row: int) -> Cell:
        place = (max(0, int(at_s // column_s)), row)
        return cells.setdefault(place, Cell(*place))

    for span in spans:
        for row, count in span.counts.items():
            cell(span.start_s, row).writes += count
    for chain, at_ns in zip(answer.chains, starts, strict=True):
        cell(at_ns / SECOND_NS, axes.row_of(chain.write.dur_ns)).chains.append(chain)
    _shade(list(cells.values()))
    for stalled in cells.values():
        if stalled.chains:
            _blame(answer, stalled)
    rows = [row for _, row in cells]
    shown = range(min(rows, default=0), max(rows, default=-1) + 1)
    columns = int(last_s // column_s) + 1
    ordered = sorted(cells.values(), key=lambda cell: (-cell.row, cell.column))
    return Heat(start_ns, column_s, columns, shown, ordered)


# Shades step by factors: one write beside ten thousand is still to be seen.
def _shade(cells: Sequence[Cell]) -> None:
    most = max((cell.writes for cell in cells), default=0).bit_length()
    for cell in cells:
        if cell.writes:
            cell.shade = max(1, cell.writes.bit_length() * SHADES // most)


def _blame(answer: Answer, cell: Cell) -> None:
    """What most of the cell's stall time was waited for, and what it comes down to."""
    classes: Counter[str] = Counter()
    for chain in cell.chains:
        for part in chain.parts:
            classes[part.cls] += part.dur_ns
    roots = answer.roots(cell.chains)
    whole_ns = cell.stall_ns
    if not whole_ns:
        cell.by_class = cell.by_root = c.OTHER
        return
    cell.by_class = classes.most_common(1)[0][0]
    cell.by_root = next(iter(roots)).cls
    told = [
        f"{percent(ns, whole_ns)} {name}"
        for name, ns in classes.most_common(3)
        if ns >= WORTH_TELLING * whole_ns
    ]
    root, ns = next(iter(roots.items()))
    cell.causes = f"waited for {', '.join(told)}; root {root!s} {percent(ns, whole_ns)}"
