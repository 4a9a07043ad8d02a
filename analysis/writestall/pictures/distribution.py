# SPDX-License-Identifier: GPL-2.0-only
"""distribution: count a run's writes by latency, with the causes of the stalls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.common.scales import EDGES_NS, bucket_of
from writestall.export.tables import main_class
from writestall_base.errors import UserError


@dataclass(slots=True)
class Row:
    """One bucket, up to and with `edge_ns`.

    `writes` are all of the client's, measured from the intended start. `stalled` are
    calls by what each waited for longest.
    """

    edge_ns: int
    writes: int = 0
    stalled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rows from the first used bucket to the last, gaps included."""

    rows: tuple[Row, ...]
    has_writes: bool


def histogram(answer: Answer) -> Histogram:
    """Count a run's writes and stalls; raise if there are neither."""
    rows = [Row(edge_ns) for edge_ns in EDGES_NS]
    for interval in answer.log.intervals if answer.log else []:
        for ns, count in interval.counts.items():
            rows[bucket_of(ns)].writes += count
    for chain in answer.chains:
        stalled = rows[bucket_of(chain.write.dur_ns)].stalled
        cls = main_class(chain)
        stalled[cls] = stalled.get(cls, 0) + 1
    used = [at for at, row in enumerate(rows) if row.writes or row.stalled]
    if not used:
        raise UserError(
            f"{answer.run.path}: no write stalled, and writer.hlog has none"
        )
    shown = tuple(rows[used[0] : used[-1] + 1])
    return Histogram(shown, any(row.writes for row in shown))


def before_and_after(answer: Answer, then: Sequence[int]) -> list[tuple[int, int, int]]:
    """Rows of a bucket's edge in ns, its writes, and those of `then`.

    `then` has a count for each edge; rows are from the first used bucket to the last.
    """
    before = {row.edge_ns: row.writes for row in histogram(answer).rows}
    rows = [
        (edge_ns, before.get(edge_ns, 0), count)
        for edge_ns, count in zip(EDGES_NS, then, strict=True)
    ]
    used = [at for at, (_, *counts) in enumerate(rows) if any(counts)]
    return rows[used[0] : used[-1] + 1]
