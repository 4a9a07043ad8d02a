# SPDX-License-Identifier: GPL-2.0-only
"""time_grid: count a run's writes by time and latency, with the stalls' causes.

Columns are time, buckets latency. The client's writes are in the interval of their
intended start, a stalled one where the call began.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from writestall.chain.answers import Answer
from writestall.chain.collect import Collector, Question, Source
from writestall.chain.parts import Chain
from writestall.chain.roots import Root
from writestall.common import scales
from writestall.common.scales import S
from writestall.events.contract import Write
from writestall_base import wait_classes as c

# Column and bucket of latency.
Place = tuple[int, int]


@dataclass(slots=True)
class Cell:
    """A range of time and a bucket of latency.

    `writes` are the client's. `stalled` counts calls by what each waited for longest;
    `ns` is the sum of their durations, and that by class and by root.
    """

    writes: int = 0
    ns: int = 0
    stalled: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    roots: Counter[Root] = field(default_factory=Counter)

    @property
    def stalls(self) -> int:
        """The number of stalled writes."""
        return self.stalled.total()


@dataclass(frozen=True, slots=True)
class Grid:
    """Maps a write to its cell.

    Second 0 is `start_ns` (CLOCK_MONOTONIC), `last_s` the last write's start.
    """

    start_ns: int
    column_s: int
    last_s: float

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return self.column(self.last_s) + 1

    def place(self, write: Write) -> Place:
        """The write's cell."""
        at_s = max(0, write.t_ns - self.start_ns) / S
        return self.column(at_s), scales.bucket_of(write.dur_ns)

    def column(self, at_s: float) -> int:
        """The column of a time; what lies before all is in the first."""
        return max(0, int(at_s // self.column_s))

    @property
    def causes(self) -> Question[Causes]:
        """The stalled writes, cell by cell."""
        return Question(Causes, (self,))


@dataclass(slots=True)
class Causes(Collector):
    """A collector: the stalled writes of each cell."""

    grid: Grid
    cells: dict[Place, Cell] = field(default_factory=dict)

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""
        write = chain.write
        cell = self.cells.setdefault(self.grid.place(write), Cell())
        own: Counter[str] = Counter()
        for part in chain.parts:
            own[part.cls] += part.dur_ns
        cell.ns += write.dur_ns
        cell.stalled[max(own, key=own.__getitem__, default=c.OTHER)] += 1
        cell.classes.update(own)
        for root, ns in source.roots.of(chain).items():
            cell.roots[root] += ns

    def join(self, other: Causes) -> None:
        """Takes in those of later chains."""
        for place, more in other.cells.items():
            cell = self.cells.setdefault(place, Cell())
            cell.ns += more.ns
            cell.stalled.update(more.stalled)
            cell.classes.update(more.classes)
            cell.roots.update(more.roots)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells by column and bucket; `buckets` are from the first used to the last."""

    grid: Grid
    buckets: range
    cells: dict[Place, Cell]

    @property
    def stalled(self) -> Counter[str]:
        """All stalled calls, by what each waited for longest."""
        total = Counter[str]()
        for cell in self.cells.values():
            total.update(cell.stalled)
        return total


def start_of(answer: Answer) -> int:
    """Second 0: the client's start, else the run's, else the tracer's."""
    if answer.log and answer.log.start_ns is not None:
        return answer.log.start_ns
    window = answer.run.get("window", "start_ns")
    if isinstance(window, int):
        return window
    begin = answer.stream.begin
    first = min((write.t_ns for _, write in answer.writes), default=0)
    return begin.t_ns if begin else first


def grid_of(answer: Answer, most_columns: int) -> Grid:
    """A grid of at most so many columns of 1, 2, 5, 10, ... seconds."""
    start_ns = start_of(answer)
    last_ns = max((write.t_ns for _, write in answer.writes), default=0) - start_ns
    spans = answer.log.intervals if answer.log else []
    last_s = max([0, last_ns, *(span.start_ns for span in spans)]) / S
    return Grid(start_ns, scales.step(last_s + 1, most_columns), last_s)


def heat_map(answer: Answer, grid: Grid) -> HeatMap:
    """Count all writes, and those that stalled."""
    cells: dict[Place, Cell] = {}
    for span in answer.log.intervals if answer.log else []:
        column = grid.column(span.start_ns / S)
        for ns, count in span.counts.items():
            place = (column, scales.bucket_of(ns))
            cells.setdefault(place, Cell()).writes += count
    for place, stalled in answer.gathered(grid.causes).cells.items():
        writes = cells[place].writes if place in cells else 0
        cells[place] = replace(stalled, writes=writes)
    used = [bucket for _, bucket in cells]
    buckets = range(min(used, default=0), max(used, default=-1) + 1)
    return HeatMap(grid, buckets, cells)
