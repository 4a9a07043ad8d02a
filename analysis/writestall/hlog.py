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


def read_latencies(path: Path) -> tuple[Latencies | None, list[Problem]]:
    """Sums a log's intervals; None where no interval could be read."""
    # Loading the C extension takes 20 ms: only where a log is there.
    from hdrh.histogram import HdrHistogram

    total = HdrHistogram(1, HIGHEST_NS, DIGITS)
    problems: list[Problem] = []
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        return None, [Problem(path.name, 0, error.strerror or "unreadable")]
    for number, line in enumerate(lines, 1):
        if not line or line.startswith(("#", '"')):
            continue
        try:
            total.decode_and_add(line.rsplit(",", 1)[-1])
        except Exception as error:  # the decoder raises whatever zlib, ctypes raise
            text = f"not an interval ({type(error).__name__})"
            problems.append(Problem(path.name, number, text))
    count = total.get_total_count()
    if not count:
        return None, problems or [Problem(path.name, 0, "holds no write")]
    ns_at = total.get_value_at_percentile
    latencies = Latencies(
        count, int(ns_at(50)), int(ns_at(99)), int(ns_at(99.9)), total.get_max_value()
    )
    return latencies, problems
