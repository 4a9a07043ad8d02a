# SPDX-License-Identifier: GPL-2.0-only
"""variants: tabulate the runs of one scenario's variants.

Several runs of a variant make one line: the median of their values, with the interval
of statistics.py or, of fewer runs than that takes, the least and the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from writestall.chain import answers, clients
from writestall.common.compressed import DEFAULT, Bound
from writestall.events import run_directory
from writestall.events.application import BROKER, SAFEPOINT
from writestall_base.errors import UserError
from writestall_base.units import aligned, ms, percent

PLAIN = "plain"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, the path of keys to its value in a row, and how that is written."""

    name: str
    path: str
    write: Callable[[float], str]

    def value(self, row: Row) -> float | None:
        """None where a key is missing."""
        found: Any = row
        for key in self.path.split("."):
            found = (found or {}).get(key)
        return None if found is None else float(found)


def _ms(ns: float) -> str:
    return ms(round(ns))


COLUMNS: dict[str | None, tuple[Column, ...]] = {
    SAFEPOINT: (
        Column("pauses", "pause.count", "{:.0f}".format),
        Column("p50", "pause.p50_ns", _ms),
        Column("max", "pause.max_ns", _ms),
        Column("most logging", "longest_logging_ns", _ms),
        Column("threads", "longest_pause.threads", "{:.0f}".format),
        Column("slowest write", "write.max_ns", _ms),
        Column("work p99.9", "latency.p999_ns", _ms),
    ),
    BROKER: (
        Column("requests", "latency.count", "{:.0f}".format),
        Column("p50", "latency.p50_ns", _ms),
        Column("p99", "latency.p99_ns", _ms),
        Column("max", "latency.max_ns", _ms),
        Column("write p99.9", "write.p999_ns", _ms),
        Column("slowest write", "write.max_ns", _ms),
    ),
}
# Of any other client; "stalled" is of all tasks on the disk.
CLIENT = (
    Column("calls", "latency.count", "{:.0f}".format),
    Column("p50", "latency.p50_ns", _ms),
    Column("p99", "latency.p99_ns", _ms),
    Column("max", "latency.max_ns", _ms),
    Column("stalled", "stalls", "{:.4g}".format),
    Column("in sum", "stall_ns", _ms),
)
OWN_CAUSE, ANY_CAUSE = "its writes waited for", "they waited for"
NOTHING = {OWN_CAUSE: "no write of its own stalled", ANY_CAUSE: "nothing stalled"}


def rows(folder: Path, engine: str | None = None, bound: Bound = DEFAULT) -> list[Row]:
    """List the runs below a folder by their start.

    A row has the run's `application` (docs/run-directory.md) or, without one, `latency`
    of its measured client; `stalls` and `stall_ns` of all tasks, `root`, `root_share`,
    `variant`, `run` (its folder's name), `status`, `kernel` and `filesystem`. Raise
    UserError if there is no run.
    """
    paths = list(run_directory.runs_in(folder))
    if not paths:
        raise UserError(f"{folder}: no run below it")
    return sorted(
        (_row(path, engine, bound) for path in paths), key=lambda row: row["began_ns"]
    )


def _row(path: Path, engine: str | None, bound: Bound) -> Row:
    run = run_directory.open_run(path, bound)
    answer = answers.answer(run, engine)
    return {
        "variant": run.get("scenario", "variant") or PLAIN,
        "run": path.name,
        "began_ns": run.get("clock", "monotonic_ns") or 0,
        "status": run.get("status"),
        "kernel": run.get("kernel"),
        "filesystem": run.get("filesystem", "type"),
        "lost_events": answer.stream.lost_events,
        "stalls": len(answer.writes),
        "stall_ns": answer.stall_ns,
        **clients.of_run(answer),
    }


def has_rounds(found: Sequence[Row]) -> bool:
    """Whether a variant was run several times."""
    return len(found) > len({(row["variant"], row["program"]) for row in found})


def lines(found: list[Row]) -> Iterator[str]:
    yield from aligned(list(_cells(found)), slice(1, -1))


def _cells(found: list[Row]) -> Iterator[list[str]]:
    """Yield the headings, and the cells of each variant, in order of its first run."""
    program = found[0]["program"]
    columns = COLUMNS.get(program, CLIENT)
    cause = OWN_CAUSE if program in COLUMNS else ANY_CAUSE
    yield ["variant", *(column.name for column in columns), cause]
    order = list(dict.fromkeys(row["variant"] for row in found))
    same = [row for row in found if row["program"] == program]
    by_variant = sorted(same, key=lambda row: order.index(row["variant"]))
    for name, of_variant in groupby(by_variant, key=lambda row: row["variant"]):
        runs = list(of_variant)
        cells = (_cell(column, runs) for column in columns)
        yield [str(name) + _caveats(runs), *cells, _cause(runs, NOTHING[cause])]


def _cell(column: Column, runs: Sequence[Row]) -> str:
    """A single run's value, or the median of several and its interval."""
    values = [value for row in runs if (value := column.value(row)) is not None]
    if not values:
        return "-"
    if len(values) == 1:
        return column.write(values[0])
    import numpy as np

    from writestall.compare import statistics

    found = statistics.median(np.array(values))
    low, high = (
        (min(values), max(values))
        if found.low is None or found.high is None
        else (found.low, found.high)
    )
    ends = f"{column.write(low).removesuffix(' ms')} to {column.write(high)}"
    return f"{column.write(found.value)} ({ends})"


def _cause(runs: Sequence[Row], nothing: str) -> str:
    """The root of the run that stalled most, with the share that it has there."""
    worst = max(runs, key=lambda row: row["stall_ns"] * (row["root"] is not None))
    if worst["root"] is None:
        return nothing
    return f"{worst['root']} ({percent(worst['root_share'])})"


def _caveats(runs: Sequence[Row]) -> str:
    """How many runs, the status of incomplete ones, and lost events."""
    caveats = [f"{len(runs)} runs"] if len(runs) > 1 else []
    odd = (str(row["status"]) for row in runs if row["status"] != "complete")
    caveats += dict.fromkeys(odd)
    lost = sum(row["lost_events"] for row in runs)
    caveats += [f"{lost} events lost"] if lost else []
    return f" ({', '.join(caveats)})" if caveats else ""
