# SPDX-License-Identifier: GPL-2.0-only
"""hlog: read an HdrHistogram log (`writer.hlog`, ns): whole, and interval by interval.

A write belongs to the interval of its intended start. Latencies in `writer.hlog` are
measured from there, those in `writer-service.hlog` from the call.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from writestall.events.lines import Problem
from writestall_base import files

HIGHEST_NS = 24 * 3600 * 10**9
DIGITS = 3
# What an interval may unpack to; 24 hours with DIGITS are 40,000 counts of 9 bytes at
# most, and the library has no bound of its own.
MOST_PAYLOAD_BYTES = 16 << 20
COOKIE_BYTES = 8  # and length, before the zlib stream


def _empty() -> Any:
    # Only where a log holds something: loading the C extension takes 20 ms, and a host
    # that is recorded need not have it.
    from hdrh.histogram import HdrHistogram

    return HdrHistogram(1, HIGHEST_NS, DIGITS)


@dataclass(frozen=True, slots=True)
class Latencies:
    """Writes and their latency from the intended start, in ns."""

    writes: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class Interval:
    """Writes that were meant to begin in one stretch of time.

    `start_ns` counts from the log's own start. The histogram stays packed: open, it
    takes 300 KB.
    """

    start_ns: int
    length_ns: int
    packed: str

    @property
    def counts(self) -> dict[int, int]:
        """How many writes took how many ns; unpacked anew each time."""
        histogram = _empty()
        histogram.decode_and_add(self.packed)
        return counts_of(histogram)


@dataclass(frozen=True, slots=True)
class Log:
    """A log. `start_ns` is CLOCK_MONOTONIC, None where the log does not say; `total` is
    an HdrHistogram of all intervals, None without any; `problems` are lines that were
    left out.
    """

    start_ns: int | None = None
    intervals: list[Interval] = field(default_factory=list)
    total: Any = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def count(self) -> int:
        return int(self.total.get_total_count()) if self.total is not None else 0

    @property
    def latencies(self) -> Latencies | None:
        """The percentiles; None of an empty log."""
        if not self.count:
            return None
        at = self.total.get_percentile_to_value_dict([50, 99, 99.9])
        most_ns = int(self.total.get_max_value())
        return Latencies(self.count, int(at[50]), int(at[99]), int(at[99.9]), most_ns)


# The writer's own comment; StartTime is wall-clock time and cut to ms.
_START = re.compile(r"#\[.*start is CLOCK_MONOTONIC (\d+) ns\]")


def read_log(path: Path) -> Log:
    """Reads a log; one that holds no latency has a problem that says why."""
    problems: list[Problem] = []
    text = _lines(path, problems)
    starts = (_START.match(line) for line in text)
    start_ns = next((int(start[1]) for start in starts if start), None)
    intervals: list[Interval] = []
    total = None
    for number, line in enumerate(text, 1):
        if not line or line.startswith(("#", '"')):
            continue
        total = _empty() if total is None else total
        try:
            # "start,length,max,payload" in seconds, behind a tag where there is one
            *_, start, length, _, packed = line.split(",")
            interval = Interval(_ns(start), _ns(length), payload(packed))
            total.decode_and_add(packed)
        except Exception as error:  # the decoder raises whatever zlib, ctypes raise
            why = f"not an interval ({type(error).__name__})"
            problems.append(Problem(path.name, number, why))
        else:
            intervals.append(interval)
    log = Log(start_ns, intervals, total, problems)
    if not log.count and not problems:
        problems.append(Problem(path.name, 0, "holds no write"))
    return log


def _lines(path: Path, problems: list[Problem]) -> list[str]:
    """A log's lines; none where it cannot be read."""
    try:
        return files.content(path).decode("utf-8", "replace").splitlines()
    except OSError as error:
        problems.append(Problem(path.name, 0, error.strerror or "unreadable"))
        return []


def _ns(seconds: str) -> int:
    return int(float(seconds) * 1e9)


def payload(field: str) -> str:
    """An interval's payload; raises ValueError where it would unpack to too much."""
    inflating = zlib.decompressobj()
    inflating.decompress(b64decode(field)[COOKIE_BYTES:], MOST_PAYLOAD_BYTES)
    if inflating.unconsumed_tail:
        raise ValueError(f"unpacks to more than {MOST_PAYLOAD_BYTES >> 20} MiB")
    return field


def counts_of(histogram: Any) -> dict[int, int]:
    """A histogram's values, each the highest of those it does not tell apart; nothing
    of None.

    That is what HdrHistogram's percentiles say, too.
    """
    if histogram is None:
        return {}
    highest = histogram.get_highest_equivalent_value
    value_of = histogram.get_value_from_index
    # Not its own iterators: they take Python's time for 40,000 empty places.
    used = [(at, count) for at, count in enumerate(histogram.counts) if count]
    return {int(highest(value_of(at))): count for at, count in used}
