# SPDX-License-Identifier: GPL-2.0-only
"""text: print a comparison's answer as text, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from writestall.compare import durability
from writestall.compare import wording as view
from writestall.compare.durability import Kept
from writestall.compare.ranking import BY_KEY, COLUMNS, REQUEST, WRITE, Answer, Column
from writestall.compare.wording import Row

# The tables that fit a terminal; the page and JSON have all columns.
TABLES = (
    ("requests", REQUEST),
    ("writes", WRITE),
    ("in all", ""),
)


def lines(answer: Answer) -> Iterator[str]:
    """Yield the lines of the report."""
    yield view.headline(answer)
    yield ""
    yield from _loads(answer)
    rows = [row for row in view.rows(answer) if row.counts]
    for title, group in TABLES:
        columns = [column for column in COLUMNS if column.group == group]
        yield from _table(title, columns, rows)
        yield ""
    yield from _causes(rows)
    yield ""
    yield from _durability(answer.comparison.kept)
    yield from _versus(answer)
    yield ""
    yield view.HOW
    yield ""
    for name, value in view.facts(answer):
        yield f"{name}: {value}"
    yield ""
    yield from (f"note: {caveat}" for caveat in view.caveats(answer))


def _loads(answer: Answer) -> Iterator[str]:
    """Yield the loads that options hold, if there are several loads."""
    if levels := view.loads(answer):
        cells = [list(view.LOAD_HEADINGS)]
        cells += [[one.percent, one.wanted, one.held, one.beyond] for one in levels]
        yield from _left_aligned(cells)
        yield view.chosen_load(answer)
        yield ""


def _table(title: str, columns: list[Column], rows: list[Row]) -> Iterator[str]:
    """Yield the values, and their intervals below them."""
    at = [COLUMNS.index(column) for column in columns]
    cells = [["", *(column.heading for column in columns)]]
    cells[0][0] = title
    for row in rows:
        numbers = [row.numbers[place] for place in at]
        cells.append([row.name, *(one.value for one in numbers)])
        cells.append(["", *(one.interval for one in numbers)])
    yield from _aligned(cells)


def _aligned(cells: list[list[str]]) -> Iterator[str]:
    """Align the first column left and the others right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        words = [first.ljust(widths[0])]
        words += [
            word.rjust(width) for word, width in zip(others, widths[1:], strict=True)
        ]
        line = "  ".join(words).rstrip()
        if line:
            yield line


def _causes(rows: list[Row]) -> Iterator[str]:
    cells = [["stalls", "runs", "waited most for", "comes down to"]]
    cells += [[row.name, row.runs, row.cause, row.root] for row in rows]
    yield from _left_aligned(cells)


def _left_aligned(cells: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (w.ljust(width) for w, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _durability(kept: list[Kept]) -> Iterator[str]:
    """Yield what each option kept when its machine was reset, if that was tried."""
    if kept:
        cells = [["when cut", *durability.HEADINGS]]
        cells += [[one.option, *one.cells] for one in kept]
        yield from _aligned(cells)
        yield durability.verdict(kept)
        yield durability.HOW
        yield ""


def _versus(answer: Answer) -> Iterator[str]:
    """Yield the pairs of the first option, and of the best one."""
    best = answer.ranking[0].option.name
    for name in dict.fromkeys((view.baseline(answer), best)):
        pairs = view.against(answer, name)
        if not pairs:
            continue
        yield f"{view.label(answer.by)}, each option against {name}:"
        for one in pairs:
            gap = f"{one.difference.value} ({one.difference.interval})"
            yield (f"  {one.better} < {one.worse}: {gap}, p {one.p}: {one.verdict}")


def as_json(answer: Answer) -> dict[str, Any]:
    """The numbers for programs; units are in the names."""
    return {
        "headline": view.headline(answer),
        "slo_ns": answer.slo_ns,
        "by": answer.by.key,
        "load": answer.comparison.level.load,
        "loads": [
            {
                "load": level.load,
                "wanted_per_s": level.wanted_per_s,
                "options": [option.name for option in level.options if option.counted],
                "beyond": level.beyond,
            }
            for level in answer.comparison.levels
        ],
        "facts": dict(view.facts(answer)),
        "profile": answer.comparison.plan["profile"],
        "workload": answer.comparison.plan["workload"],
        "options": [
            {
                "name": row.option.name,
                "what": row.option.what,
                "filesystem": row.option.filesystem,
                "runs": row.runs,
                "cause": row.cause,
                "root": row.root,
                "numbers": {key: asdict(row.numbers[key]) for key in row.numbers},
            }
            for row in answer.ranking
        ],
        "pairs": [
            {
                "better": pair.better,
                "worse": pair.worse,
                "difference": asdict(pair.difference.estimate),
                "p": pair.difference.p,
                "p_adjusted": pair.p,
                "clear": pair.clear,
                "runs_needed": pair.needed,
            }
            for pair in answer.pairs
        ],
        "units": {key: column.unit for key, column in BY_KEY.items()},
        "durability": [asdict(kept) for kept in answer.comparison.kept],
        "notes": list(view.caveats(answer)),
    }
