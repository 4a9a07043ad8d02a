# SPDX-License-Identifier: GPL-2.0-only
"""hlog: read percentiles and counts from an HdrHistogram log (`writer.hlog`, ns)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from writestall.common import files
from writestall.events.lines import Problem

HIGHEST_NS = 24 * 3600 * 10**9
DIGITS = 3


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
    """Writes that were meant to begin in one stretch of time: ns to how many.

    `start_ns` counts from the log's own start.
    """

    start_ns: int
    length_ns: int
    counts: dict[int, int]


@dataclass(frozen=True, slots=True)
class Log:
    """A log's intervals; `start_ns` is CLOCK_MONOTONIC, None where it does not say."""

    start_ns: int | None
    intervals: list[Interval]

    @property
    def count(self) -> int:
        """How many latencies it holds."""
        return sum(sum(interval.counts.values()) for interval in self.intervals)


# The writer's own comment; StartTime is wall-clock time and cut to ms.
_START = re.compile(r"#\[.*start is CLOCK_MONOTONIC (\d+) ns\]")


def lines(path: Path, problems: list[Problem]) -> list[str]:
    """A log's lines; none where it cannot be read."""
    try:
        return files.content(path).decode("utf-8", "replace").splitlines()
    except OSError as error:
        problems.append(Problem(path.name, 0, error.strerror or "unreadable"))
        return []


def intervals(text: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines that should hold an interval, numbered, as their fields.

    "start,length,max,payload" in seconds, behind a tag where there is one.
    """
    for number, line in enumerate(text, 1):
        if line and not line.startswith(("#", '"')):
            yield number, line.split(",")


def start_of(text: list[str]) -> int | None:
    """When the log began, CLOCK_MONOTONIC ns; None where its lines do not say."""
    found = (_START.match(line) for line in text)
    return next((int(start[1]) for start in found if start), None)


def not_an_interval(path: Path, number: int, error: Exception) -> Problem:
    """What is wrong with a line that could not be decoded."""
    return Problem(path.name, number, f"not an interval ({type(error).__name__})")


def read_latencies(path: Path) -> tuple[Latencies | None, list[Problem]]:
    """Sums a log's intervals; None where no interval could be read."""
    total, problems = read_total(path)
    count = total.get_total_count()
    if not count:
        return None, problems or [Problem(path.name, 0, "holds no write")]
    ns_at = total.get_value_at_percentile
    latencies = Latencies(
        count, int(ns_at(50)), int(ns_at(99)), int(ns_at(99.9)), total.get_max_value()
    )
    return latencies, problems


def read_total(path: Path) -> tuple[Any, list[Problem]]:
    """All intervals in one HdrHistogram, empty where the file cannot be opened."""
    # Loading the C extension takes 20 ms: only where a log is there.
    from hdrh.histogram import HdrHistogram

    total = HdrHistogram(1, HIGHEST_NS, DIGITS)
    problems: list[Problem] = []
    for number, fields in intervals(lines(path, problems)):
        try:
            total.decode_and_add(fields[-1])
        except Exception as error:  # the decoder raises whatever zlib, ctypes raise
            problems.append(not_an_interval(path, number, error))
    return total, problems


def read_log(path: Path) -> Log:
    """A log interval by interval; what cannot be read is left out (read_latencies()
    tells of it).
    """
    from hdrh.histogram import HdrHistogram

    text = lines(path, [])
    log = Log(start_of(text), [])
    for _, fields in intervals(text):
        histogram = HdrHistogram(1, HIGHEST_NS, DIGITS)
        try:
            start_ns, length_ns = (int(float(field) * 1e9) for field in fields[-4:-2])
            histogram.decode_and_add(fields[-1])
        except Exception:
            continue
        log.intervals.append(Interval(start_ns, length_ns, counts_of(histogram)))
    return log


def counts_of(histogram: Any) -> dict[int, int]:
    """A histogram's values, each the highest of those it does not tell apart.

    That is what HdrHistogram's percentiles say, too.
    """
    highest = histogram.get_highest_equivalent_value
    value_of = histogram.get_value_from_index
    # Not its own iterators: they take Python's time for 40,000 empty places.
    used = [(at, count) for at, count in enumerate(histogram.counts) if count]
    return {int(highest(value_of(at))): count for at, count in used}
