# SPDX-License-Identifier: GPL-2.0-only
"""flight_recorder: compare the calls and holders found with a JVM's own recording.

The flight recorder sees a wait for a monitor and who left it last, and how long a file
took, from inside the JVM; no tracer of the kernel sees the former.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from writestall.chain.answers import Answer
from writestall.common.windows import Window, common_ns, window_of
from writestall.events.programs.jfr import Recorded
from writestall.report.complaints import MEANWHILE, OTHERS, Joins, joins

# A wait is a lock's where the recorder and the stage share most of it.
MOST = 0.5
# Each has waited for the one before it.
MOST_OWNERS = 64


@dataclass(frozen=True, slots=True)
class Witness:
    """What a recording confirms.

    files       operations on files of the tracer's limit and more
    files_seen  those in which a stalled call of the same thread is listed
    waits       waits for a monitor of that limit and more, of threads that complained
    waits_seen  those where the previous owner, or who that one waited for, is the task
                of a call that the complaint may have waited for
    """

    files: int
    files_seen: int
    waits: int
    waits_seen: int


def witness(answer: Answer, joins: Joins) -> Witness | None:
    """The comparison; None without a recording."""
    app = answer.application
    if app is None or not app.complaints.recorded:
        return None
    traced = filter(joins.is_traced, app.complaints.recorded)
    rows = [row for row in traced if row.dur_ns >= joins.limit_ns]
    files = [row for row in rows if not row.monitor]
    seen = [row for row in files if _is_listed(answer, row)]
    waits = list(_waits(joins, [row for row in rows if row.monitor]))
    return Witness(len(files), len(seen), len(waits), sum(waits))


def summary(answer: Answer) -> dict[str, Any]:
    """`flight_recorder` of summary.json (docs/run-directory.md), or nothing."""
    found = joins(answer)
    said = witness(answer, found) if found else None
    return {"flight_recorder": asdict(said)} if said else {}


def _is_listed(answer: Answer, row: Recorded) -> bool:
    """Whether a stalled call of the thread takes most of it."""
    return any(
        write.tid == row.tid and _is_mostly_in(row, window_of(write))
        for _, write in answer.every_write
    )


def _is_mostly_in(row: Recorded, window: Window) -> bool:
    return common_ns(window_of(row), window) >= MOST * row.dur_ns


def _waits(joins: Joins, monitors: list[Recorded]) -> Iterator[bool]:
    """Whether the owner agrees, of each wait in a stage of a complaint's thread."""
    for joined in joins.rows:
        t_ns = joined.complaint.t_ns
        for dealt in joined.stages:
            window = t_ns, t_ns + dealt.stage.dur_ns
            t_ns = window[1]
            others = {
                write.tid
                for name in (OTHERS, MEANWHILE)
                for _, write in dealt.calls(name)
            }
            for wait in monitors:
                is_its = dealt.stage.worked and wait.tid == joined.complaint.tid
                if is_its and _is_mostly_in(wait, window):
                    yield not others.isdisjoint(_owners(wait, monitors))


def _owners(wait: Recorded, monitors: list[Recorded]) -> set[int]:
    """The previous owner, and those whom it had waited for meanwhile."""
    found: set[int] = set()
    ahead = [wait]
    while ahead and len(found) < MOST_OWNERS:
        owner = ahead.pop().owner_tid
        if owner is None or owner in found:
            continue
        found.add(owner)
        ahead += [
            row
            for row in monitors
            if row.tid == owner and common_ns(window_of(row), window_of(wait)) > 0
        ]
    return found
