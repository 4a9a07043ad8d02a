# SPDX-License-Identifier: GPL-2.0-only
"""text: print a comparison's answer as text, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from writestall.compare import durability
from writestall.compare import wording as view
from writestall.compare.durability import Kept
from writestall.compare.ranking import BY_KEY, COLUMNS, GROUPS, Answer, Column, Pair
from writestall.compare.rules import Verdict
from writestall.compare.sheet import Sheet, decided
from writestall.compare.wording import Row
from writestall_base.units import aligned

FORMAT = 2
ESTIMATES = ("difference", "ratio")


def lines(answer: Answer, sheet: Sheet) -> Iterator[str]:
    """Yield the lines of the report: the sheet first."""
    yield from _sheet(sheet)
    yield ""
    yield from _loads(answer)
    rows = [row for row in view.rows(answer) if row.counts]
    for title, columns in GROUPS.items():
        yield from _table(title, columns, rows)
        yield ""
    yield from _causes(rows)
    yield ""
    yield from _durability(answer.comparison.kept)
    yield view.HOW
    yield ""
    for name, value in view.facts(answer):
        yield f"{name}: {value}"
    yield ""
    yield from (f"note: {caveat}" for caveat in view.caveats(answer))


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield sheet.headline
    yield ""
    for name, value in sheet.facts:
        yield f"{name}: {value}"
    yield ""
    yield from aligned([sheet.headings, *(line.cells for line in sheet.lines)])
    for line in sheet.lines:
        if line.reasons:
            yield f"  {line.option}: {line.reasons}"


def _loads(answer: Answer) -> Iterator[str]:
    """Yield the loads that options hold, if there are several loads."""
    if levels := view.loads(answer):
        yield from aligned([view.LOAD_HEADINGS, *levels])
        yield view.chosen_load(answer)
        yield ""


def _table(title: str, columns: list[Column], rows: list[Row]) -> Iterator[str]:
    """Yield the values, and their intervals below them."""
    at = [COLUMNS.index(column) for column in columns]
    cells = [[title, *(column.heading for column in columns)]]
    for row in rows:
        numbers = [row.numbers[place] for place in at]
        cells.append([row.name, *(one.value for one in numbers)])
        cells.append(["", *(one.interval for one in numbers)])
    yield from aligned(cells, slice(1, None))


def _causes(rows: list[Row]) -> Iterator[str]:
    cells = [["stalls", "runs", "waited most for", "comes down to"]]
    cells += [[row.name, row.runs, row.cause, row.root] for row in rows]
    yield from aligned(cells)


def _durability(kept: list[Kept]) -> Iterator[str]:
    """Yield what each option kept when its machine was cut, if that was tried."""
    if kept:
        cells = [["when cut", *durability.HEADINGS]]
        cells += [[one.option, *one.cells] for one in kept]
        yield from aligned(cells, slice(1, None))
        yield durability.verdict(kept)
        yield durability.HOW
        yield ""


def as_json(
    answer: Answer, sheet: Sheet, verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """The numbers for programs: docs/compare.schema.json has the fields."""
    return {
        "format": FORMAT,
        "headline": sheet.headline,
        "question": sheet.question,
        "rule": sheet.rule,
        "plan": sheet.plan,
        "plan_hash": sheet.fixed,
        "void": answer.void,
        "decided": decided(answer, list(verdicts)),
        "verdicts": [asdict(one) for one in verdicts],
        "noise": _pair(answer.noise) if answer.noise else None,
        "resolution": asdict(answer.resolution),
        "untested": sheet.untested,
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
                "kernel": row.option.kernel,
                "severity": row.option.severity,
                "runs": row.runs,
                "cause": row.cause,
                "root": row.root,
                "numbers": {key: asdict(row.numbers[key]) for key in row.numbers},
            }
            for row in answer.ranking
        ],
        "pairs": [_pair(pair) for pair in answer.pairs],
        "changes": [asdict(change) for change in answer.changes],
        "units": {key: column.unit for key, column in BY_KEY.items()},
        "durability": [asdict(kept) for kept in answer.comparison.kept],
        "notes": list(view.caveats(answer)),
    }


def _pair(pair: Pair) -> dict[str, Any]:
    """A pair; JSON has no infinity: a factor of nothing is null."""
    return {
        key: _finite(value) if key in ESTIMATES else value
        for key, value in asdict(pair).items()
        if key != "contrast"
    }


def _finite(estimate: dict[str, float | None]) -> dict[str, float | None]:
    return {
        key: value if value is None or isfinite(value) else None
        for key, value in estimate.items()
    }
