# SPDX-License-Identifier: GPL-2.0-only
"""flame_graphs: turns options' stalled writes into flame graphs beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from writestall.common.units import many, ms
from writestall.compare.ranking import Standing
from writestall.report.flame_graph import Flame, drawn


@dataclass(frozen=True, slots=True)
class Graph:
    """One option's graph; `note` says how much it stands for."""

    name: str
    note: str
    flame: Flame


def flames(standings: Iterable[Standing]) -> list[Graph]:
    """A graph for each option on which a write stalled, in the order given."""
    found = []
    for row in standings:
        graph = drawn(row.option.steps)
        if graph.frames:
            stalled = f"{ms(graph.total_ns)} of stalls in {many(row.runs, 'run')}"
            found.append(Graph(row.option.name, stalled, graph))
    return found
