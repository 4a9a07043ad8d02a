# SPDX-License-Identifier: GPL-2.0-only
"""slow_writes: match the client's record of slow writes with the kernel's."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

from writestall.chain.answers import Answer
from writestall.events.contract import ClientWrite, Write
from writestall.events.rows import read_records
from writestall.verdict.engines import match

# Rows that are shown; sums are of all.
MOST_ROWS = 30


@dataclass(frozen=True, slots=True)
class View:
    """One slow write as each side saw it; None if a side did not."""

    t_ns: int
    at_s: float
    client: ClientWrite | None
    kernel: Write | None

    @property
    def path(self) -> str:
        """The file, from either side."""
        sides = (self.kernel, self.client)
        return next((side.path for side in sides if side and side.path), "?")

    @property
    def corrected_ns(self) -> int | None:
        """The client's latency from the intended start."""
        row = self.client
        if row is None or row.intended_ns is None:
            return None
        return row.t_ns + row.dur_ns - row.intended_ns

    @property
    def longer_ns(self) -> int | None:
        """The client's time before the first sleep and after the last."""
        if self.client is None or self.kernel is None:
            return None
        return self.client.dur_ns - self.kernel.dur_ns


@dataclass(slots=True)
class Views:
    """Both sides; `rows` are the slowest, by time.

    strangers   stalled writes of tasks without a record
    """

    rows: list[View] = field(default_factory=list)
    both: int = 0
    client_only: int = 0
    kernel_only: int = 0
    strangers: int = 0
    longest_apart_ns: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """All slow writes that either side saw."""
        return self.both + self.client_only + self.kernel_only


def views(answer: Answer, start_ns: int) -> Views | None:
    """Match the two records; None if there is no record or no slow write.

    `start_ns` is the page's second 0.
    """
    found = Views()
    by_tid = _clients(answer.run.path, found)

    def view(client: ClientWrite | None, kernel: Write | None) -> View:
        t_ns = min(side.t_ns for side in (client, kernel) if side)
        return View(t_ns, (t_ns - start_ns) / 1e9, client, kernel)

    rows, seen = [], set()
    for _, write in answer.writes:
        own = by_tid.get(write.tid)
        if own is None:
            found.strangers += 1
            continue
        client = _partner(write, own)
        if client:
            seen.add(id(client))
        rows.append(view(client, write))
    every = [row for own in by_tid.values() for row in own]
    rows += [view(row, None) for row in every if id(row) not in seen]
    found.both = sum(row.client is not None and row.kernel is not None for row in rows)
    found.kernel_only = sum(row.client is None for row in rows)
    found.client_only = sum(row.kernel is None for row in rows)
    found.longest_apart_ns = max((abs(row.longer_ns or 0) for row in rows), default=0)
    slowest = sorted(rows, key=lambda row: -_longest(row))[:MOST_ROWS]
    found.rows = sorted(slowest, key=lambda row: row.t_ns)
    return found if rows or found.notes else None


def _clients(run: Path, found: Views) -> dict[int, list[ClientWrite]]:
    """Slow writes of every workload by task, in order of time."""
    by_tid: dict[int, list[ClientWrite]] = {}
    for path in sorted(run.glob("writer*.jsonl")):
        records = read_records(path, ClientWrite)
        found.notes += [str(problem) for problem in records.problems[:3]]
        for row in records.rows:
            by_tid.setdefault(row.tid, []).append(row)
    return by_tid


def _longest(row: View) -> int:
    sides = (row.client, row.kernel)
    return max(side.dur_ns for side in sides if side)


def _partner(write: Write, rows: list[ClientWrite]) -> ClientWrite | None:
    """The client's record of a call: the one of its task that overlaps most.

    One task's calls do not overlap, so it is a neighbour in time.
    """
    at = bisect_left(rows, write.t_ns, key=lambda row: row.t_ns)
    return match(write, rows[max(0, at - 1) : at + 2])
