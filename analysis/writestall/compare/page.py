# SPDX-License-Identifier: GPL-2.0-only
"""page: render a comparison's answer as `compare.html`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from writestall.classify import styles
from writestall.compare import durability
from writestall.compare import wording as view
from writestall.compare.curve import curves
from writestall.compare.curve_picture import picture
from writestall.compare.ranking import COLUMNS, GROUPS, Answer, Ranked
from writestall.compare.sheet import Sheet
from writestall.compare.side_by_side import side_by_side
from writestall.report.flame_graph import Flame, drawn
from writestall.report.render import render
from writestall_base.units import many, ms


@dataclass(frozen=True, slots=True)
class Graph:
    """One option's graph; `note` says how much stall time it shows."""

    name: str
    note: str
    flame: Flame


def flames(ranking: Iterable[Ranked]) -> list[Graph]:
    """Draw a graph for each option with a stalled write, in the order given."""
    found = []
    for row in ranking:
        graph = drawn(row.option.steps)
        if graph.frames:
            stalled = f"{ms(graph.total_ns)} of stalls in {many(row.runs, 'run')}"
            found.append(Graph(row.option.name, stalled, graph))
    return found


def page(answer: Answer, sheet: Sheet) -> str:
    """Render the page: the sheet first."""
    return render(
        "compare.html",
        _context(answer, sheet),
        ("page.css", "compare.css"),
        "compare.js",
    )


def _context(answer: Answer, sheet: Sheet) -> dict[str, Any]:
    """The values that the template prints."""
    plan, kept = answer.comparison.plan, answer.comparison.kept
    counted = [row.option for row in answer.ranking if row.runs]
    graphs = flames(answer.ranking)
    seen = {frame.kind for graph in graphs for frame in graph.flame.frames}
    return {
        "sheet": sheet,
        "profile": plan["profile"],
        "workload": plan["workload"],
        "columns": COLUMNS,
        "groups": [(title, len(columns)) for title, columns in GROUPS.items()],
        "chosen": COLUMNS.index(answer.by),
        "rows": view.rows(answer),
        "loads": view.loads(answer),
        "load_headings": view.LOAD_HEADINGS,
        "chosen_load": view.chosen_load(answer),
        "curves": picture(curves(answer.comparison)),
        "heat": side_by_side(counted, plan["duration_s"], answer.slo_ns),
        "flames": graphs,
        "calm": [row.option.name for row in answer.ranking if row.calm],
        "kinds": styles.STYLES.values(),
        "legend": styles.legend(seen),
        "slo": ms(answer.slo_ns),
        "facts": view.facts(answer),
        "kept": kept,
        "kept_headings": durability.HEADINGS,
        "kept_how": durability.HOW,
        "kept_verdict": durability.verdict(kept) if kept else "",
        "caveats": list(view.caveats(answer)),
        "how": view.HOW,
    }
