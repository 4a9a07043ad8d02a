# SPDX-License-Identifier: GPL-2.0-only
"""redis: read samples of Redis' latency monitor.

A line is `EVENT SECONDS MS`: the event's name, the second of time of day in which it
ended, and how long it took, as LATENCY HISTORY returns them (Redis' documentation,
"Redis latency monitoring"; src/latency.c, latencyAddSample()). A write of the log is
sampled twice, as `aof-write` and by why it was slow (src/aof.c, flushAppendOnlyFile()).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from writestall.events.application_clock import Clock, Complaint, parsed_lines
from writestall.events.lines import Problem
from writestall_base.units import MS_NS, S_NS

TWICE = "aof-write"


def read(path: Path, clock: Clock) -> Iterator[Complaint | Problem]:
    """The samples; each ended somewhere in its second."""
    return parsed_lines(path, partial(_complaint, clock))


def _complaint(clock: Clock, line: str) -> Complaint | None:
    try:
        event, second, took_ms = line.split()
        at, dur_ns = datetime.fromtimestamp(int(second), UTC), int(took_ms) * MS_NS
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"want EVENT SECONDS MS, got {line[:60]!a}") from None
    if event == TWICE:
        return None
    noun, start_ns = f"{event} event", clock.monotonic_ns(at) - dur_ns
    return Complaint("redis", start_ns, dur_ns, event, None, "redis-server", S_NS, noun)
