# SPDX-License-Identifier: GPL-2.0-only
"""convoys: choose the chains that a page shows at length, and list the rest.

A page shows the slowest convoys, and for each cell of the heat map the convoy of its
slowest write, cells with most stall time first, up to a limit. Other slow writes of a
cell are one line each, with the command that shows their chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain as chained
from typing import Any

from writestall.chain.answers import Answer
from writestall.chain.collect import Chains
from writestall.chain.roots import Root
from writestall.common.scales import S
from writestall.events.contract import Write
from writestall.pictures.time_grid import Grid
from writestall.report.chain_timeline import timeline
from writestall.report.heat_map import Cell, Heat, key_of
from writestall.report.text import chain_lines, main_root
from writestall.report.timeline import Timeline
from writestall_base.units import ms, percent, printable

MOST_VIEWS, SLOWEST = 160, 40
# Lines of a cell; the page says how many more there are.
MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class ConvoyView:
    """A convoy's slowest write as text and picture; `cells` are of all its writes."""

    id: str
    at: str
    took: str
    task: str
    path: str
    root: str
    cells: str
    tree: list[str]
    picture: Timeline


def convoy_views(answer: Answer, heat: Heat) -> tuple[list[ConvoyView], dict[str, Any]]:
    """The convoys, slowest first, and the record of all stalled writes by cell."""
    groups, totals = list(answer.convoys.values()), answer.totals
    place_of = {key: at for at, key in enumerate(answer.convoys)}
    places: dict[str, list[int]] = {}
    for at, (_, write) in enumerate(answer.slowest.writes):
        rows = places.setdefault(key_of(heat.grid.place(write)), [])
        if len(rows) < MOST_ROWS:
            rows.append(at)
    shown = chained(*places.values())
    group_of = {at: place_of[totals.convoys[at]] for at in shown}
    slowest = {key: group_of[rows[0]] for key, rows in places.items()}
    chosen = _chosen(heat.cells, slowest, len(groups))
    views = [
        _view(answer, groups[at], number, heat.grid) for number, at in enumerate(chosen)
    ]
    view_of = {group: number for number, group in enumerate(chosen)}
    names: dict[str, int] = {}
    cells: dict[str, list[list[str | int]]] = {}
    for key, rows in places.items():
        cells[key] = []
        for at in rows:
            write = answer.slowest.writes[at][1]
            root, ns = totals.main_root(at)
            words = (write.path or "?", _task(write), _share(root, ns, write))
            known = (names.setdefault(printable(word), len(names)) for word in words)
            shown_at = view_of.get(group_of[at], -1)
            times = (ms(write.dur_ns), _at(write, heat.grid))
            cells[key].append([*times, *known, at + 1, shown_at])
    return views, {"names": list(names), "cells": cells, "most": MOST_ROWS}


def _chosen(cells: list[Cell], slowest: dict[str, int], count: int) -> list[int]:
    """Choose the convoys to show; return their indexes, slowest first.

    `slowest` is the convoy of each cell's slowest write.
    """
    chosen = set(range(min(count, SLOWEST)))
    for cell in sorted(cells, key=lambda cell: -cell.stall_ns):
        if cell.stalls and len(chosen) < MOST_VIEWS:
            chosen.add(slowest[cell.key])
    return sorted(chosen)


def _view(answer: Answer, convoy: Chains, number: int, grid: Grid) -> ConvoyView:
    chain = convoy[0]
    write = chain.write
    cells = dict.fromkeys(key_of(grid.place(member)) for _, member in convoy.writes)
    return ConvoyView(
        id=f"convoy-{number}",
        at=_at(write, grid),
        took=ms(write.dur_ns),
        task=_task(write),
        path=write.path or "?",
        root=_share(*main_root(answer.roots([chain])), write),
        cells=" ".join(cells),
        tree=list(chain_lines(answer, convoy)),
        picture=timeline(answer, chain),
    )


def _at(write: Write, grid: Grid) -> str:
    return f"{(write.t_ns - grid.start_ns) / S:.2f} s"


def _task(write: Write) -> str:
    return f"{write.comm or '?'}/{write.tid}"


def _share(root: Root, ns: int, write: Write) -> str:
    return f"{root!s} {percent(ns, write.dur_ns)}"
