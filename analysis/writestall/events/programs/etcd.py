# SPDX-License-Identifier: GPL-2.0-only
"""etcd: read etcd's log: what it says took longer than it expected.

A line is JSON with the time of the end in `ts` and a duration in `took`: "slow
fdatasync" (wal/wal.go, sync()) and "apply request took too long" (etcdserver/util.go,
warnOfExpensiveGenericRequest()).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from writestall.events.application_clock import Clock, Complaint, parsed_lines
from writestall.events.decode import UNREADABLE
from writestall.events.lines import Problem

# time.Duration's String(): `1m2.5s`, `105.3ms`, `12\u00b5s`.
PART = re.compile(r"([\d.]+)(h|ms|m|s|us|\u00b5s|ns)")
UNITS_NS = {"h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "ns": 1}
UNITS_NS |= {"us": 1_000, "\u00b5s": 1_000}
SLACK_NS = 1_000_000
SYNC = "slow fdatasync"


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line that names a duration."""

    ts: datetime
    msg: str
    took: str
    request: str = ""


DECODER = msgspec.json.Decoder(Line)


def duration_ns(text: str) -> int:
    """A duration as Go prints it, in ns."""
    return round(sum(float(n) * UNITS_NS[unit] for n, unit in PART.findall(text)))


def read(path: Path, clock: Clock) -> Iterator[Complaint | Problem]:
    """Every line with a `took`; others are none of complaint."""
    return parsed_lines(path, partial(_complaint, clock))


def _complaint(clock: Clock, text: str) -> Complaint | None:
    try:
        line = DECODER.decode(text) if '"took":' in text else None
    except UNREADABLE:
        line = None  # `took` is a word of other lines too
    if line is None:
        return None
    dur_ns = duration_ns(line.took)
    noun = line.msg if line.msg == SYNC else "slow request"
    start_ns = clock.monotonic_ns(line.ts) - dur_ns
    return Complaint("etcd", start_ns, dur_ns, line.msg, None, "etcd", SLACK_NS, noun)
