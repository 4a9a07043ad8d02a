# SPDX-License-Identifier: GPL-2.0-only
"""image: turns histograms and heat maps into SVG or PNG files, with Matplotlib."""

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
from writestall.classify.styles import LOOKS, Look
from writestall.common.buckets import EDGES_NS, S, label
from writestall.common.errors import WritestallError
from writestall.common.units import ms, printable
from writestall.export.tables import run_name
from writestall.pictures import distribution
from writestall.pictures.distribution import Histogram
from writestall.pictures.time_grid import HeatMap
from writestall.whatif.removal import QUANTILES, WhatIf

CANVASES = {".svg": FigureCanvasSVG, ".png": FigureCanvasAgg}
_STYLE: Any = {
    # Names in titles come from users: no $mathematics$ in them.
    "text.parse_math": False,
    # Text stays text, and the same run makes the same file.
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
# Told apart by more than their colour.
_TWO: Any = {
    "as it was": {"color": _GREY},
    "then": {"color": "white", "edgecolor": "black", "hatch": "////"},
}
_P999 = QUANTILES.index(99.9)


def histogram(answer: Answer, found: Histogram, suffix: str) -> bytes:
    """All writes above, stalled writes by cause below, one scale of latency."""
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
    """All writes by latency, as they were beside as they would have been; raises where
    the client left no schedule to tell it from.
    """
    told = found.percentiles
    if told is None:
        raise WritestallError(
            f"{answer.run.path}: no schedule in writer.jsonl, or no writer.hlog: "
            "nothing to draw; leave out -o"
        )
    with mpl.rc_context(_STYLE):
        figure = _figure(answer)
        axes = figure.subplots()
        rows = distribution.beside(distribution.histogram(answer), told.then_writes)
        edges_ns, *counts = zip(*rows, strict=True)
        for at, (name, look) in enumerate(_TWO.items()):
            places = [place + (at - 0.5) * 0.42 for place in range(len(rows))]
            axes.bar(places, counts[at], width=0.42, label=name, **look)
        _count_by_powers(axes)
        axes.set_ylabel("all writes (log scale)")
        _name_buckets(axes, edges_ns)
        axes.set_xlabel("latency, up to (from the intended start)")
        stalls, left = found.stalls
        axes.set_title(
            f"if {found.cls} had taken no time, and nothing had taken its place: "
            f"{left} of {stalls} stalls left, p99.9 {ms(told.measured_ns[_P999])} to "
            f"{ms(told.then_ns[_P999])}",
            fontsize=10,
        )
        axes.legend(frameon=False)
        return _saved(figure, suffix)


def _count_by_powers(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)  # a single write must be seen
    axes.yaxis.set_major_formatter(FuncFormatter(_whole))


def _name_buckets(axes: Any, edges_ns: Sequence[int]) -> None:
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(edges_ns)), list(map(label, edges_ns)), **slanted)


def _stacks(axes: Any, found: Histogram) -> None:
    """Bars of the stalled writes, one colour and hatching per class."""
    bottoms = [0] * len(found.rows)
    classes = dict.fromkeys(cls for row in found.rows for cls in row.stalled)
    for cls in sorted(classes, key=list(LOOKS).index):
        counts = [row.stalled.get(cls, 0) for row in found.rows]
        look = LOOKS[cls]
        bars = axes.bar(
            range(len(counts)),
            counts,
            bottom=bottoms,
            width=0.9,
            label=f"{look.letter} {cls} ({sum(counts)})",
            color=look.colour,
            edgecolor="black",
            linewidth=0.6,
            hatch=look.hatch,
        )
        # A segment too low for its letter is told by the legend's order alone.
        top = max(sum(row.stalled.values()) for row in found.rows)
        letters = [look.letter if count > 0.07 * top else "" for count in counts]
        # The hatching must not run through its letter.
        box = {"boxstyle": "round,pad=0.25", "fc": look.colour, "ec": "none"}
        style = {"label_type": "center", "bbox": box}
        axes.bar_label(bars, letters, **style, **_letter(look))
        bottoms = [low + count for low, count in zip(bottoms, counts, strict=True)]
    if classes:
        axes.legend(title="waited longest for", loc="upper left", frameon=False)


def heat_map(answer: Answer, found: HeatMap, suffix: str) -> bytes:
    """Writes as shades of grey by time and latency; a marker for stalled ones."""
    with mpl.rc_context(_STYLE):
        figure = _figure(answer)
        axes = figure.subplots()
        _shades(figure, axes, found)
        _markers(axes, found)
        buckets = range(found.lowest, found.highest + 1)
        labels = [label(EDGES_NS[bucket]) for bucket in buckets]
        axes.set_yticks([at - found.lowest + 0.5 for at in buckets], labels)
        axes.set_ylim(0, len(labels))
        axes.set_xlim(0, found.columns * found.step_ns / S)
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
    height = found.highest - found.lowest + 1
    grid = [[0] * found.columns for _ in range(height)]
    for (column, bucket), cell in found.cells.items():
        grid[bucket - found.lowest][column] = cell.writes
    most = max(map(max, grid))
    if not most:
        return
    step_s = found.step_ns / S
    edges_s = [column * step_s for column in range(found.columns + 1)]
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
    counts: dict[str, int] = {}
    for (column, bucket), cell in found.cells.items():
        for at, (cls, count) in enumerate(sorted(cell.stalled.items())):
            # Classes that share a cell stand side by side.
            share = (at + 1) / (len(cell.stalled) + 1)
            x_s = (column + share) * found.step_ns / S
            points.setdefault(cls, []).append((x_s, bucket - found.lowest + 0.5))
            counts[cls] = counts.get(cls, 0) + count
    for cls in sorted(points, key=list(LOOKS).index):
        look = LOOKS[cls]
        axes.scatter(
            *zip(*points[cls], strict=True),
            s=110,
            color=look.colour,
            edgecolors="white",
            linewidths=1,
            label=f"{look.letter} {cls} ({counts[cls]})",
            zorder=3,
        )
        for x_s, y in points[cls]:
            style = {"ha": "center", "va": "center_baseline", "zorder": 4}
            axes.text(x_s, y, look.letter, **style, **_letter(look))


def _letter(look: Look) -> dict[str, Any]:
    """How its letter is written on a class's colour, so that it can be read."""
    red, green, blue = to_rgb(look.colour)
    # Relative luminance, roughly (ITU-R BT.709); white is read on the darker ones.
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
    ink = "white" if dark else "black"
    return {"color": ink, "fontsize": 8, "weight": "bold"}


def _whole(value: float, _: int) -> str:
    return f"{value:g}" if value >= 1 else ""


def _figure(answer: Answer) -> Figure:
    figure = Figure(figsize=_SIZE_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    summary = answer.summary()
    lost = summary["lost_events"]
    told = (
        f"{run_name(answer)}: {summary['stalls']} stalled writes, "
        f"{ms(summary['stall_ns'])} in sum"
    )
    figure.suptitle(printable(told + (f"; LOST {lost} events" if lost else "")))
    return figure


def _saved(figure: Figure, suffix: str) -> bytes:
    file = io.BytesIO()
    # A date would make every file differ.
    metadata = {"Date": None} if suffix == ".svg" else {}
    CANVASES[suffix](figure).print_figure(file, format=suffix[1:], metadata=metadata)
    return file.getvalue()
