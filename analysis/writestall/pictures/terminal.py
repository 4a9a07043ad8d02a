# SPDX-License-Identifier: GPL-2.0-only
"""terminal: print histograms and heat maps to a terminal.

Everything can be read without colours: each has a letter or a name. rich knows what the
terminal can do, NO_COLOR and pipes included. Text from a run is neither parsed as
markup nor sent to the terminal unescaped.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from writestall.chain.answers import Answer
from writestall.classify.styles import STYLES
from writestall.common.scales import EDGES_NS, label
from writestall.export.tables import run_name
from writestall.pictures.distribution import Histogram
from writestall.pictures.time_grid import Cell, Grid, HeatMap
from writestall_base.units import many, ms, printable

BAR = 16
# The width if output is not a terminal.
DEFAULT_WIDTH = 100
_SHADES = {True: "\u2591\u2592\u2593\u2588", False: ".:+#"}
_BLOCKS = {True: "\u2588", False: "#"}


class _Console(Console):
    """One that leaves a closed pipe to cli/main.py, not to an exit status of 1."""

    def on_broken_pipe(self) -> None:
        raise  # the error that rich has caught


def show(lines: Iterable[RenderableType]) -> None:
    """Print to standard output, in colours if that is a terminal that has them."""
    console = _console()
    for line in lines:
        console.print(line)


def _console() -> _Console:
    sized = sys.stdout.isatty() or "COLUMNS" in os.environ
    return _Console(
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=True,
        width=None if sized else DEFAULT_WIDTH,
    )


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().startswith("utf")


def title(answer: Answer) -> Iterator[Text]:
    """Yield the run's title, and what limits its numbers."""
    summary = answer.summary()
    counted = f"{summary['writes']} {answer.counted}, " if summary["writes"] else ""
    title_text = (
        f"{run_name(answer)}: {counted}{many(summary['stalls'], 'stalled write')}, "
        f"{ms(summary['stall_ns'])} in sum; kernel {summary['kernel'] or '?'}"
    )
    if summary["lost_events"]:
        yield Text(f"LOST: {summary['lost_events']} events; what follows has gaps")
    yield Text(printable(title_text), style="bold")
    yield from (Text(printable(f"note: {note}")) for note in answer.notes)


def plain_table(*columns: tuple[str, str]) -> Table:
    """Make a table without lines; a column is its name and `left` or `right`."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in columns:
        left = justify == "left"
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    return table


def histogram(answer: Answer, found: Histogram) -> Iterator[RenderableType]:
    """Yield a row per bucket: writes as a bar on a log scale, stalls by class."""
    yield from title(answer)
    most = max((row.writes for row in found.rows), default=0)
    columns = [("up to", "right"), ("writes", "right"), ("(log scale)", "left")]
    shown = columns if found.has_writes else columns[:1]
    table = plain_table(*shown, ("stalled, and what each waited for longest", "left"))
    table.columns[-1].no_wrap = False
    for row in found.rows:
        cells = [Text(label(row.edge_ns))]
        if found.has_writes:
            cells += [Text(str(row.writes)), Text(bar(row.writes, most), style="dim")]
        table.add_row(*cells, _counts(row.stalled))
    yield table


def bar(count: int, most: int) -> str:
    """A bar on a log scale; 1 is visible."""
    if not count:
        return ""
    share = math.log1p(count) / math.log1p(most)
    return _BLOCKS[_is_utf8()] * max(1, round(BAR * share))


def _counts(stalled: Mapping[str, int]) -> Text:
    """`3 journal_buffer, 1 page_lock`, each in its colour."""
    rows = sorted(stalled.items(), key=lambda row: -row[1])
    parts = [Text(f"{count} {cls}", style=STYLES[cls].colour) for cls, count in rows]
    return Text(", ").join(parts)


def heat_map(answer: Answer, found: HeatMap) -> Iterator[RenderableType]:
    """Yield lines of latency over time: shades are writes, letters are stalls."""
    yield from title(answer)
    grid = found.grid
    wide = max(1, min(3, _room() // grid.columns))
    for bucket in reversed(found.buckets):
        line = Text(f"{label(EDGES_NS[bucket]):>7} |")
        for column in range(grid.columns):
            line.append_text(_cell(found.cells.get((column, bucket)), wide))
        yield line
    yield Text(" " * 8 + "+" + "-" * (wide * grid.columns))
    yield Text(" " * 9 + _ticks(grid, wide))
    yield Text("")
    yield from _legend(answer, found)


def columns() -> int:
    """The number of columns of a heat map that fit the terminal."""
    return max(10, _room())


def _room() -> int:
    return _console().width - 10


def _cell(cell: Cell | None, wide: int) -> Text:
    if cell is None:
        return Text(" " * wide)
    # One of up to three characters is the letter; a single one shows the stall.
    shade = _shade(cell.writes)
    if not cell.stalled:
        return Text(shade * wide, style="dim")
    cls = max(cell.stalled, key=lambda cls: cell.stalled[cls])
    style = STYLES[cls]
    text = Text((shade * wide)[: wide // 2], style="dim")
    text.append(style.letter, style=f"bold {style.colour}")
    return text.append((shade * wide)[wide // 2 + 1 :], style="dim")


def _shade(writes: int) -> str:
    """Darker for each power of ten: 1, 10, 100, 1000 and more."""
    if not writes:
        return " "
    shades = _SHADES[_is_utf8()]
    return shades[min(int(math.log10(writes)), len(shades) - 1)]


def _ticks(grid: Grid, wide: int) -> str:
    """Labels below the axis, as many as do not overlap."""
    line = ""
    for column in range(grid.columns):
        mark = f"{column * grid.column_s} s"
        if column * wide >= len(line) + (2 if line else 0) and column % 5 == 0:
            line = line.ljust(column * wide) + mark
    return line


def _legend(answer: Answer, found: HeatMap) -> Iterator[Text]:
    if any(cell.writes for cell in found.cells.values()):
        shades = _SHADES[_is_utf8()]
        steps = "  ".join(f"{shade} {10**at}" for at, shade in enumerate(shades))
        yield Text(f"writes from their intended start: {steps} and more in a cell")
    yield Text(f"a cell is {found.grid.column_s} s wide")
    parts = []
    for cls, count in found.stalled.most_common():
        style = STYLES[cls]
        parts.append(Text(f"{style.letter} {cls} ({count})", style=style.colour))
    yield Text("stalled, by what each waited for longest: ") + Text("  ").join(parts)
