# SPDX-License-Identifier: GPL-2.0-only
"""fio_latencies: read delays out of fio's latency logs and out of its JSON.

A line of --write_lat_log is time in ms, latency, direction, bytes, and then, by
version and options, offset, priority and time of issue (fio's HOWTO, "Log File
Formats"). Latencies are ns since fio 3.0, us before; the log does not say which.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from statistics import median
from typing import Any

from labrun.scenario.distribution import Bucket, Distribution, of_buckets, of_samples
from labrun.scenario.recorded_text import Text
from writestall_base.units import UNITS_NS

DIRECTIONS = ("read", "write", "trim")
# Columns with everything on; a line of --write_hist_log has a column for each bin.
MOST_COLUMNS = 7
# A disk that is so rarely busy, by its latencies in ns, is one that was busy, in us.
RARELY_BUSY, MOST_AT_ONCE = 0.01, 1024
_OTHER_LOG = re.compile(r"_(bw|iops|slat)\.\d+\.log")


def read(text: Text, unit: str | None, direction: str | None) -> Distribution:
    """Return the delays of a latency log or of the output of --output-format=json."""
    if match := _OTHER_LOG.search(text.name):
        raise text.refuse(f"a log of {match[1]}; want --write_lat_log's *_clat.N.log")
    start = text.whole.find("{")
    if start >= 0 and '"jobs"' in text.whole:
        return _from_json(text, text.whole[start:], direction)
    return _from_log(text, unit, direction)


def _from_log(text: Text, unit: str | None, direction: str | None) -> Distribution:
    found: list[float] = []
    times_ms: list[float] = []
    surely_ns = False
    for number, line in text.lines():
        columns = [word.strip() for word in line.split(",")]
        if len(columns) > MOST_COLUMNS:
            raise text.refuse(
                f"{len(columns)} columns, a log of --write_hist_log; record "
                "--write_lat_log instead, or use the JSON of --output-format=json+",
                number,
            )
        try:
            time_ms, value, way = float(columns[0]), float(columns[1]), int(columns[2])
            name = DIRECTIONS[way] if len(columns) > 3 and way >= 0 else ""
        except (ValueError, IndexError):
            name = ""
        if not name:
            text.bad(number, line)
        elif direction not in (None, name):
            text.skip()
        else:
            text.use(name)
            found.append(value)
            times_ms.append(time_ms)
            # The priority in hexadecimal, and the time of issue, came with 3.x.
            surely_ns |= len(columns) > 5 or columns[-1].startswith("0x")
    if len(found) < 2:
        raise text.nothing("fio")
    unit = unit or ("ns" if surely_ns else _unit(found, times_ms))
    text.note(f"latencies taken as {unit}; --unit sets it")
    return of_samples([value * UNITS_NS[unit] for value in found])


def _unit(values: list[float], times_ms: list[float]) -> str:
    """Guess the unit: how many requests were under way at a time, by the log."""
    span_ns = max(times_ms[-1] - times_ms[0], 1) * UNITS_NS["ms"]
    at_once = sum(values) / span_ns
    rarely = at_once < RARELY_BUSY and at_once * UNITS_NS["us"] < MOST_AT_ONCE
    return "us" if rarely or median(values) < UNITS_NS["us"] else "ns"


def _from_json(text: Text, document: str, direction: str | None) -> Distribution:
    try:
        jobs = json.loads(document)["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise text.refuse(f"not JSON of fio: {error}") from None
    buckets: list[Bucket] = []
    for job in jobs if isinstance(jobs, list) else []:
        for name in DIRECTIONS:
            if direction in (None, name) and isinstance(job.get(name), dict):
                found = _of_direction(job[name])
                if found:
                    text.use(name)
                buckets += found
    if not buckets:
        raise text.refuse("no percentiles in its JSON; want --output-format=json+")
    return of_buckets(buckets)


def _of_direction(statistics: dict[str, Any]) -> list[Bucket]:
    """Buckets of a job's direction: the bins of json+, else between percentiles.

    Since 3.0 `clat_ns`, `lat_ns`; before, `clat` in us.
    """
    for key, unit in (("clat_ns", "ns"), ("lat_ns", "ns"), ("clat", "us")):
        part = statistics.get(key)
        if not isinstance(part, dict) or not statistics.get("total_ios", 1):
            continue
        scale = UNITS_NS[unit]
        bins = part.get("bins") or {}
        if bins:
            values = sorted((float(ns), count) for ns, count in bins.items())
            return [Bucket(ns * scale, ns * scale, count) for ns, count in values]
        shares = part.get("percentile") or {}
        if shares:
            return _between(part, shares, scale, statistics.get("total_ios", 1))
    return []


def _between(
    part: dict[str, Any], shares: dict[str, Any], scale: float, total: float
) -> list[Bucket]:
    points = [(0.0, float(part["min"]))]
    points += sorted(
        (float(share) / 100, float(value)) for share, value in shares.items()
    )
    points.append((1.0, max(float(part["max"]), points[-1][1])))
    return [
        Bucket(low * scale, high * scale, (end - begin) * total)
        for (begin, low), (end, high) in pairwise(points)
    ]
