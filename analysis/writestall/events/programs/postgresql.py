# SPDX-License-Identifier: GPL-2.0-only
"""postgresql: read PostgreSQL's log: slow statements and checkpoints.

`log_min_duration_statement` prints a statement with its duration once it has ended, and
`log_checkpoints` what a checkpoint took (PostgreSQL's documentation, "Error Reporting
and Logging"). The prefix must be `%m [%p] ` in UTC: time in ms, process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from writestall.events.application_clock import Clock, Complaint, parsed_lines
from writestall.events.lines import Problem
from writestall_base.units import MS_NS, S_NS

PREFIX = r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) UTC \[(?P<pid>\d+)\] LOG: +"
STATEMENT = re.compile(
    PREFIX + r"duration: (?P<took>[\d.]+) ms +(?:statement|execute [^:]*): (?P<what>.*)"
)
# Its `sync` is the time in fsync(2), at the checkpoint's end (src/backend/access/
# transam/xlog.c, LogCheckpointEnd()).
CHECKPOINT = re.compile(PREFIX + r"checkpoint complete: .*\bsync=(?P<took>[\d.]+) s")
MOST_CHARACTERS = 60


def read(path: Path, clock: Clock) -> Iterator[Complaint | Problem]:
    """Statements and the syncs of checkpoints, each over the time that it took."""
    return parsed_lines(path, partial(_complaint, clock))


def _complaint(clock: Clock, line: str) -> Complaint | None:
    slow = STATEMENT.match(line)
    found = slow or CHECKPOINT.match(line)
    if not found:
        return None
    at = datetime.strptime(found["at"], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    dur_ns = round(float(found["took"]) * (MS_NS if slow else S_NS))
    what = slow["what"][:MOST_CHARACTERS].strip() if slow else "checkpoint: sync"
    tid, start_ns = int(found["pid"]), clock.monotonic_ns(at) - dur_ns
    noun = "statement" if slow else "checkpoint sync"
    return Complaint(
        *("postgresql", start_ns, dur_ns, what, tid, "postgres", MS_NS, noun),
        alone=True,  # a backend has one client, and one statement at a time
    )
