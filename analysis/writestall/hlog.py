# SPDX-License-Identifier: GPL-2.0-only
"""hlog: turns an HdrHistogram log (`writer.hlog`, ns) into percentiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from writestall.parse import Problem

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


def intervals(path: Path, problems: list[Problem]) -> list[tuple[int, str]]:
    """A log's lines that hold an interval, numbered; what hinders goes to problems."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        problems.append(Problem(path.name, 0, error.strerror or "unreadable"))
        return []
    numbered = enumerate(lines, 1)
    return [row for row in numbered if row[1] and not row[1].startswith(("#", '"'))]


def not_an_interval(path: Path, number: int, error: Exception) -> Problem:
    """What is wrong with a line that could not be decoded."""
    return Problem(path.name, number, f"not an interval ({type(error).__name__})")


def read_latencies(path: Path) -> tuple[Latencies | None, list[Problem]]:
    """Sums a log's intervals; None where no interval could be read."""
    # Loading the C extension takes 20 ms: only where a log is there.
    from hdrh.histogram import HdrHistogram

    total = HdrHistogram(1, HIGHEST_NS, DIGITS)
    problems: list[Problem] = []
    for number, line in intervals(path, problems):
        try:
            total.decode_and_add(line.rsplit(",", 1)[-1])
        except Exception as error:  # the decoder raises whatever zlib, ctypes raise
            problems.append(not_an_interval(path, number, error))
    count = total.get_total_count()
    if not count:
        return None, problems or [Problem(path.name, 0, "holds no write")]
    ns_at = total.get_value_at_percentile
    latencies = Latencies(
        count, int(ns_at(50)), int(ns_at(99)), int(ns_at(99.9)), total.get_max_value()
    )
    return latencies, problems
