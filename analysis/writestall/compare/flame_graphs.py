# SPDX-License-Identifier: GPL-2.0-only
"""flame_graphs: draw a flame graph for each option."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from writestall.common.units import many, ms
from writestall.compare.ranking import Ranked
from writestall.report.flame_graph import Flame, drawn


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
