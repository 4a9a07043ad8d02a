# SPDX-License-Identifier: GPL-2.0-only
"""image: draw histograms and heat maps as SVG or PNG, with Matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from writestall.chain.answers import Answer
from writestall.classify.styles import ORDER, STYLES, Style
from writestall.common.scales import EDGES_NS, label
from writestall.export.tables import run_name
from writestall.pictures.distribution import Histogram, before_and_after
from writestall.pictures.time_grid import HeatMap
from writestall.whatif.removal import QUANTILES, WhatIf
from writestall_base.errors import UserError
from writestall_base.units import ms, printable

CANVASES = {".svg": FigureCanvasSVG, ".png": FigureCanvasAgg}
_STYLE: Any = {
    # Names in titles come from users: do not parse $mathematics$.
    "text.parse_math": False,
    # Keep text as text; the same run gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "writestall",
    "font.size": 10,
    "hatch.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_SIZE_INCHES = (9.0, 5.0)
_DOTS_PER_INCH = 120
_GREY = "#8c8c8c"
# They differ in more than their colour.
_BEFORE_AND_AFTER: Any = {
    "as it was": {"color": _GREY},
    "then": {"color": "white", "edgecolor": "black", "hatch": "////"},
}
_P999 = QUANTILES.index(99.9)


def histogram(answer: Answer, found: Histogram, suffix: str) -> bytes:
    """Draw all writes above, stalled writes by cause below, on one latency scale."""
    with mpl.rc_context(_STYLE):
        figure = _figure(answer)
        rows, places = found.rows, range(len(found.rows))
        upper, lower = figure.subplots(2, sharex=True, height_ratios=(1, 1))
        if found.has_writes:
            counts = [row.writes for row in rows]
            upper.bar(places, counts, color=_GREY, width=0.9)
            _count_by_powers(upper)
        else:
            upper.text(0.5, 0.5, "no writer.hlog", transform=upper.transAxes)
        upper.set_ylabel("all writes\n(log scale)")
        _stacks(lower, found)
        lower.set_ylabel("stalled writes")
        lower.yaxis.set_major_locator(MaxNLocator(integer=True))
        _name_buckets(lower, [row.edge_ns for row in rows])
        lower.set_xlabel("latency, up to (from the intended start; stalled: the call)")
        return _saved(figure, suffix)


def what_if(answer: Answer, found: WhatIf, suffix: str) -> bytes:
    """Draw all writes by latency, measured and simulated; raise if there is no schedule
    to simulate.
    """
    percentiles = found.percentiles
    if percentiles is None:
        raise UserError(
            f"{answer.run.path}: no schedule in writer.jsonl, or no writer.hlog: "
            "nothing to draw; leave out -o"
        )
    with mpl.rc_context(_STYLE):
        figure = _figure(answer)
        axes = figure.subplots()
        rows = before_and_after(answer, percentiles.then_writes)
        edges_ns, *counts = zip(*rows, strict=True)
        for at, (name, style) in enumerate(_BEFORE_AND_AFTER.items()):
            places = [place + (at - 0.5) * 0.42 for place in range(len(rows))]
            axes.bar(places, counts[at], width=0.42, label=name, **style)
        _count_by_powers(axes)
        axes.set_ylabel("all writes (log scale)")
        _name_buckets(axes, edges_ns)
        axes.set_xlabel("latency, up to (from the intended start)")
        stalls, left = found.stalls
        axes.set_title(
            f"if {found.cls} had taken no time, and nothing had taken its place: "
            f"{left} of {stalls} stalls left, "
            f"p99.9 {ms(percentiles.measured_ns[_P999])} to "
            f"{ms(percentiles.then_ns[_P999])}",
            fontsize=10,
        )
        axes.legend(frameon=False)
        return _saved(figure, suffix)


def _count_by_powers(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)  # keep a single write visible
    axes.yaxis.set_major_formatter(FuncFormatter(_whole))


def _name_buckets(axes: Any, edges_ns: Sequence[int]) -> None:
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(edges_ns)), list(map(label, edges_ns)), **slanted)


def _stacks(axes: Any, found: Histogram) -> None:
    """Draw bars of the stalled writes, one colour and hatching per class."""
    bottoms = [0] * len(found.rows)
    classes = dict.fromkeys(cls for row in found.rows for cls in row.stalled)
    for cls in sorted(classes, key=ORDER.__getitem__):
        counts = [row.stalled.get(cls, 0) for row in found.rows]
        style = STYLES[cls]
        bars = axes.bar(
            range(len(counts)),
            counts,
            bottom=bottoms,
            width=0.9,
            label=f"{style.letter} {cls} ({sum(counts)})",
            color=style.colour,
            edgecolor="black",
            linewidth=0.6,
            hatch=style.hatch,
        )
        # Segments too low for a letter have the legend's order.
        top = max(sum(row.stalled.values()) for row in found.rows)
        letters = [style.letter if count > 0.07 * top else "" for count in counts]
        # Keep the hatching away from the letter.
        box = {"boxstyle": "round,pad=0.25", "fc": style.colour, "ec": "none"}
        axes.bar_label(bars, letters, label_type="center", bbox=box, **_letter(style))
        bottoms = [low + count for low, count in zip(bottoms, counts, strict=True)]
    if classes:
        axes.legend(title="waited longest for", loc="upper left", frameon=False)


def heat_map(answer: Answer, found: HeatMap, suffix: str) -> bytes:
    """Draw writes as shades of grey by time and latency, stalled ones as markers."""
    with mpl.rc_context(_STYLE):
        figure = _figure(answer)
        axes = figure.subplots()
        _shades(figure, axes, found)
        _markers(axes, found)
        labels = [label(EDGES_NS[bucket]) for bucket in found.buckets]
        axes.set_yticks([at + 0.5 for at in range(len(labels))], labels)
        axes.set_ylim(0, len(labels))
        axes.set_xlim(0, found.grid.columns * found.grid.column_s)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("seconds from the start of the run")
        axes.set_ylabel("latency, up to")
        axes.legend(
            title="stalled, waited longest for",
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            frameon=False,
        )
        return _saved(figure, suffix)


def _shades(figure: Figure, axes: Any, found: HeatMap) -> None:
    height, columns = len(found.buckets), found.grid.columns
    grid = [[0] * columns for _ in range(height)]
    for (column, bucket), cell in found.cells.items():
        grid[bucket - found.buckets[0]][column] = cell.writes
    most = max(map(max, grid))
    if not most:
        return
    edges_s = [column * found.grid.column_s for column in range(columns + 1)]
    shown = [[count or float("nan") for count in row] for row in grid]
    mesh = axes.pcolormesh(
        edges_s,
        range(height + 1),
        shown,
        cmap="Greys",
        norm=LogNorm(0.3, max(most, 2)),
        linewidth=0,
        rasterized=True,
    )
    bar = figure.colorbar(mesh, ax=axes, label="writes, from their intended start")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(_whole))
    bar.ax.set_ylim(1, max(most, 2))


def _markers(axes: Any, found: HeatMap) -> None:
    points: dict[str, list[tuple[float, float]]] = {}
    for (column, bucket), cell in found.cells.items():
        for at, cls in enumerate(sorted(cell.stalled)):
            # Classes that share a cell are drawn side by side.
            share = (at + 1) / (len(cell.stalled) + 1)
            x_s = (column + share) * found.grid.column_s
            points.setdefault(cls, []).append((x_s, bucket - found.buckets[0] + 0.5))
    counts = found.stalled
    for cls in sorted(points, key=ORDER.__getitem__):
        style = STYLES[cls]
        axes.scatter(
            *zip(*points[cls], strict=True),
            s=110,
            color=style.colour,
            edgecolors="white",
            linewidths=1,
            label=f"{style.letter} {cls} ({counts[cls]})",
            zorder=3,
        )
        for x_s, y in points[cls]:
            place = {"ha": "center", "va": "center_baseline", "zorder": 4}
            axes.text(x_s, y, style.letter, **place, **_letter(style))


def _letter(style: Style) -> dict[str, Any]:
    """The style of a class's letter, legible on its colour."""
    red, green, blue = to_rgb(style.colour)
    # Relative luminance, roughly (ITU-R BT.709); white is legible on the darker ones.
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
    ink = "white" if dark else "black"
    return {"color": ink, "fontsize": 8, "weight": "bold"}


def _whole(value: float, _: int) -> str:
    return f"{value:g}" if value >= 1 else ""


def _figure(answer: Answer) -> Figure:
    figure = Figure(figsize=_SIZE_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    summary = answer.summary()
    lost = summary["lost_events"]
    title = (
        f"{run_name(answer)}: {summary['stalls']} stalled writes, "
        f"{ms(summary['stall_ns'])} in sum"
    )
    figure.suptitle(printable(title + (f"; LOST {lost} events" if lost else "")))
    return figure


def _saved(figure: Figure, suffix: str) -> bytes:
    file = io.BytesIO()
    # With a date every file would differ.
    metadata = {"Date": None} if suffix == ".svg" else {}
    CANVASES[suffix](figure).print_figure(file, format=suffix[1:], metadata=metadata)
    return file.getvalue()
