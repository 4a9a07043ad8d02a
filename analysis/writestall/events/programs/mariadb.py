# SPDX-License-Identifier: GPL-2.0-only
"""mariadb: read slow statements that a query of MariaDB's performance_schema printed.

Its events_statements_history_long has the time and length of a statement in ps, its
threads the tid of a connection. The slow log's file has whole seconds (sql/log.cc,
MYSQL_QUERY_LOG::write()), and its table is synced for each statement. A line is, with
tabs between: us since 1970, us, tid or nothing, statement (docs/applications.md has the
query).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

from writestall.events.application_clock import EPOCH, Clock, Complaint, parsed_lines
from writestall.events.lines import Problem
from writestall_base.units import MS_NS, US_NS

LINE = re.compile(
    r"(?P<at_us>\d{1,17})\t(?P<took_us>\d{1,12})\t(?P<tid>\d{0,10})\t(.*)"
)
MOST_CHARACTERS = 60


def read(path: Path, clock: Clock) -> Iterator[Complaint | Problem]:
    """Statements, each over the time that it took."""
    return parsed_lines(path, partial(_complaint, clock))


def _complaint(clock: Clock, line: str) -> Complaint:
    found = LINE.match(line)
    if not found:
        want = "want US, US, TID and STATEMENT with tabs between"
        raise ValueError(f"{want}, got {line[:60]!r}")
    start_ns = clock.monotonic_ns(EPOCH + timedelta(microseconds=int(found["at_us"])))
    what = found[4][:MOST_CHARACTERS].strip()
    tid = int(found["tid"]) if found["tid"] else None
    dur_ns = int(found["took_us"]) * US_NS
    return Complaint(
        *("mariadb", start_ns, dur_ns, what, tid, "mariadbd", MS_NS, "statement"),
        alone=tid is not None,  # a connection has one statement at a time
    )
