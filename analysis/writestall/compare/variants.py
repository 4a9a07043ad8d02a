# SPDX-License-Identifier: GPL-2.0-only
"""variants: tabulate the runs of one scenario's variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from writestall.chain import answers, clients
from writestall.common.errors import WritestallError
from writestall.common.units import ms, percent
from writestall.events import run_directory
from writestall.events.application import BROKER, SAFEPOINT

PLAIN = "plain"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and the function from a row's `application` to its cell."""

    name: str
    cell: Callable[[Row], str]


def _ns(of: str, key: str) -> Callable[[Row], str]:
    return lambda row: ms((row[of] or {}).get(key))


def _count(of: str) -> Callable[[Row], str]:
    return lambda row: str((row[of] or {}).get("count", "-"))


def _stopped_threads(row: Row) -> str:
    return str((row["longest_pause"] or {}).get("threads", "-"))


def _cause(row: Row) -> str:
    if row["root"] is None:
        return "no write of its own stalled"
    return f"{row['root']} ({percent(row['root_share'])})"


COLUMNS: dict[str, tuple[Column, ...]] = {
    SAFEPOINT: (
        Column("pauses", _count("pause")),
        Column("p50", _ns("pause", "p50_ns")),
        Column("max", _ns("pause", "max_ns")),
        Column("most logging", lambda row: ms(row["longest_logging_ns"])),
        Column("threads", _stopped_threads),
        Column("slowest write", _ns("write", "max_ns")),
        Column("work p99.9", _ns("latency", "p999_ns")),
    ),
    BROKER: (
        Column("requests", _count("latency")),
        Column("p50", _ns("latency", "p50_ns")),
        Column("p99", _ns("latency", "p99_ns")),
        Column("max", _ns("latency", "max_ns")),
        Column("write p99.9", _ns("write", "p999_ns")),
        Column("slowest write", _ns("write", "max_ns")),
    ),
}
LAST = Column("its writes waited for", _cause)


def rows(folder: Path, engine: str | None = None) -> list[Row]:
    """List the runs below a folder by their start.

    A row has the run's `application` (docs/run-directory.md), `variant`, `run` (its
    folder's name), `status`, `kernel` and `filesystem`. Raise WritestallError if there
    is no run of an application.
    """
    paths = sorted(path.parent for path in folder.glob("*/manifest.json"))
    found = [row for path in paths if (row := _row(path, engine))]
    if not found:
        raise WritestallError(f"{folder}: no run of an application below it")
    return sorted(found, key=lambda row: row["began_ns"])


def _row(path: Path, engine: str | None) -> Row | None:
    run = run_directory.open_run(path)
    answer = answers.answer(run, engine)
    seen = clients.summary(answer)
    if not seen:
        return None
    return {
        "variant": run.get("scenario", "variant") or PLAIN,
        "run": path.name,
        "began_ns": run.get("clock", "monotonic_ns") or 0,
        "status": run.get("status"),
        "kernel": run.get("kernel"),
        "filesystem": run.get("filesystem", "type"),
        "lost_events": answer.stream.lost_events,
        **seen["application"],
    }


def lines(found: list[Row]) -> Iterator[str]:
    """Yield the table's lines; the first and last columns are aligned left."""
    cells = list(_cells(found))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *numbers, last in cells:
        middle = [
            text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True)
        ]
        yield "  ".join([first.ljust(widths[0]), *middle, last])


def _cells(found: list[Row]) -> Iterator[list[str]]:
    """Yield the headings, and the cells of each row."""
    columns = (*COLUMNS[found[0]["program"]], LAST)
    yield ["variant", *(column.name for column in columns)]
    for row in found:
        if row["program"] == found[0]["program"]:
            name = row["variant"] + _caveats(row)
            yield [name, *(column.cell(row) for column in columns)]


def _caveats(row: Row) -> str:
    """The status of an incomplete run, and lost events."""
    caveats = [] if row["status"] == "complete" else [str(row["status"])]
    caveats += [f"{row['lost_events']} events lost"] if row["lost_events"] else []
    return f" ({', '.join(caveats)})" if caveats else ""
