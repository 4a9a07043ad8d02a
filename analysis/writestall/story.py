# SPDX-License-Identifier: GPL-2.0-only
"""story: turns stalled writes into the chains a page tells at length, and all in brief.

A convoy is one story. A page holds so many at most: the slowest, and that of the
slowest write of each cell of the heat map, those with most stall time first. Of the
others, the slowest of each cell are one line each, with the command that tells them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from writestall.heat import SECOND_NS, Cell, Heat
from writestall.model import Answer, Convoy, convoys
from writestall.parts import Chain
from writestall.text import chain_lines, main_root, numbered
from writestall.timeline import Timeline, timeline
from writestall.units import ms, percent, printable

MOST_STORIES, SLOWEST = 160, 40
# Lines of a cell; the page says how many more there are.
MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Story:
    """One convoy's slowest write, as text and picture; `cells` are of all in it."""

    id: str
    at: str
    took: str
    task: str
    path: str
    root: str
    cells: str
    tree: list[str]
    picture: Timeline


def stories(answer: Answer, heat: Heat) -> tuple[list[Story], dict[str, Any]]:
    """The stories, slowest first, and the record of all stalled writes by cell."""
    groups = convoys(answer.chains)
    group_of = {c.id: at for at, group in enumerate(groups) for c in group.chains}
    cell_of = {c.id: cell.key for cell in heat.cells for c in cell.chains}
    chosen = _chosen(heat.cells, group_of, len(groups))
    told = [
        _story(answer, groups[at], number, heat, cell_of)
        for number, at in enumerate(chosen)
    ]
    story_of = {group: number for number, group in enumerate(chosen)}
    names: dict[str, int] = {}
    cells: dict[str, list[list[str | int]]] = {}
    for number, chain in enumerate(numbered(answer), 1):
        rows = cells.setdefault(cell_of[chain.id], [])
        if len(rows) < MOST_ROWS:
            words = (chain.write.path or "?", _task(chain), _root(answer, chain))
            known = (names.setdefault(printable(word), len(names)) for word in words)
            told_at = story_of.get(group_of[chain.id], -1)
            times = (ms(chain.write.dur_ns), _at(chain, heat))
            rows.append([*times, *known, number, told_at])
    return told, {"names": list(names), "cells": cells, "most": MOST_ROWS}


def _chosen(cells: list[Cell], group_of: dict[int, int], count: int) -> list[int]:
    """Convoys that get a story, by their place among all, slowest first."""
    chosen = set(range(min(count, SLOWEST)))
    for cell in sorted(cells, key=lambda cell: -cell.stall_ns):
        if cell.chains and len(chosen) < MOST_STORIES:
            slowest = max(cell.chains, key=lambda chain: chain.write.dur_ns)
            chosen.add(group_of[slowest.id])
    return sorted(chosen)


def _story(
    answer: Answer, convoy: Convoy, number: int, heat: Heat, cell_of: dict[int, str]
) -> Story:
    chain = convoy.chains[0]
    cells = dict.fromkeys(cell_of[member.id] for member in convoy.chains)
    return Story(
        id=f"story-{number}",
        at=_at(chain, heat),
        took=ms(chain.write.dur_ns),
        task=_task(chain),
        path=chain.write.path or "?",
        root=_root(answer, chain),
        cells=" ".join(cells),
        tree=list(chain_lines(answer, convoy)),
        picture=timeline(answer, chain),
    )


def _at(chain: Chain, heat: Heat) -> str:
    return f"{(chain.write.t_ns - heat.start_ns) / SECOND_NS:.2f} s"


def _task(chain: Chain) -> str:
    return f"{chain.task.comm}/{chain.task.tid}"


def _root(answer: Answer, chain: Chain) -> str:
    root, ns = main_root(answer.roots([chain]))
    return f"{root!s} {percent(ns, chain.write.dur_ns)}"
