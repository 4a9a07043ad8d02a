# SPDX-License-Identifier: GPL-2.0-only
"""block_traces: read delays out of what biosnoop, biolatency and blkparse print."""

from __future__ import annotations

import re
from collections import deque

from labrun.scenario.distribution import Bucket, Distribution, of_buckets, of_samples
from labrun.scenario.recorded_text import Text
from writestall_base.units import UNITS_NS

# The first letter of a request's kind (block/blktrace: fill_rwbs), behind the F of a
# flush that comes before it.
_KINDS = {"R": "read", "W": "write", "D": "trim", "F": "flush"}


def kind_of(rwbs: str) -> str:
    """read, write, trim or flush; empty for what is none of them."""
    name = _KINDS.get(rwbs[:1], "")
    # `FWS` is a write with a flush before it, `FF` and `FN` are flushes alone.
    return "write" if name == "flush" and rwbs[1:2] == "W" else name


def biosnoop(text: Text, direction: str | None) -> Distribution:
    """Return the last column, LAT(ms), below the header of bcc, libbpf or bpftrace.

    Without any header all lines count that begin with a time and end in a number.
    """
    lines = list(text.lines())
    heads = [at for at, (_, line) in enumerate(lines) if line.split()[-1] == "LAT(ms)"]
    samples: list[float] = []
    # The direction's column, counted from the end: names may hold blanks.
    column = 0
    for at, (number, line) in enumerate(lines):
        columns = line.split()
        if at in heads[:1]:
            column = columns.index("T") - len(columns) if "T" in columns else 0
        value = _number(columns[-1])
        if at in heads or (heads and at < heads[0]):
            text.skip()
        elif value is None or len(columns) < 2 or _number(columns[0]) is None:
            text.bad(number, line)
        else:
            way = kind_of(columns[column]) if column and len(columns) >= -column else ""
            if direction not in (None, way):
                text.skip()
                continue
            text.use(way)
            samples.append(value * UNITS_NS["ms"])
    if len(samples) < 2:
        raise text.nothing("biosnoop")
    return of_samples(samples)


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


# `4 -> 7 : 12 |***|` of bcc and libbpf, ends included; `[4, 8) 12 |@@@|` of bpftrace,
# where K, M and G are powers of 1024.
_BUCKET = re.compile(r"\s*(\d+)\s+->\s+(\d+)\s+:\s+(\d+)\s")
_RANGE = re.compile(r"\s*[\[(](\d+)([KMGT]?)(?:,\s*(\d+)([KMGT]?)[)\]]|\])\s+(\d+)\s")
_UNIT = re.compile(r"\b@?_?(nsecs?|usecs?|msecs?|secs)\b|\b@(ns|us|ms)\b")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def biolatency(text: Text) -> Distribution:
    """Return the sum of the histograms of biolatency, of bcc, libbpf or bpftrace."""
    buckets: list[Bucket] = []
    scale = UNITS_NS["us"]
    for number, line in text.lines():
        if match := _BUCKET.match(f"{line} "):
            low, high, count = float(match[1]), float(match[2]) + 1, int(match[3])
        elif match := _RANGE.match(f"{line} "):
            low = int(match[1]) * 1024.0 ** _POWERS[match[2]]
            high = low + 1
            if match[3]:
                high = int(match[3]) * 1024.0 ** _POWERS[match[4]]
            count = int(match[5])
        else:
            if unit := _UNIT.search(line):
                word = unit[1] or unit[2]
                scale = UNITS_NS["s" if word == "secs" else f"{word[0]}s"]
                text.skip()
            else:
                text.bad(number, line)
            continue
        text.use()
        buckets.append(Bucket(low * scale, high * scale, count))
    found = of_buckets(buckets)
    if found.count < 2:
        raise text.nothing("biolatency")
    return found


# blkparse's default format: device, CPU, number, time, pid, action, kind, place.
_LINE = re.compile(
    r"\s*(?P<dev>\d+,\d+)\s+\d+\s+\d+\s+(?P<at>\d+\.\d+)\s+\d+\s+(?P<action>[A-Z])\s+"
    r"(?P<rwbs>[A-Z]+)(?:\s+(?P<sector>\d+)(?:\s+\+\s+(?P<count>\d+))?)?(?:\s|$)"
)


def blkparse(text: Text, direction: str | None) -> Distribution:
    """Return the times from issue (D) to the last completion (C) of each request.

    A request that completes in parts has a line for each (blk_update_request() in
    block/blk-core.c); a flush has no sectors, and flushes of a disk complete in order.
    Flushes are left out unless they are asked for.
    """
    requests = _Requests()
    samples: list[float] = []
    for number, line in text.lines():
        match = _LINE.match(line)
        if match is None:
            text.bad(number, line)
            continue
        way = kind_of(match["rwbs"])
        wanted = way == direction if direction else way not in ("", "flush")
        took_s = requests.take(match)
        if not wanted or match["action"] not in "DCR":
            text.skip()
        elif took_s is None:
            text.use()
        else:
            text.use(way)
            samples.append(took_s * UNITS_NS["s"])
    if len(samples) < 2:
        raise text.nothing("blkparse")
    return of_samples(samples)


class _Requests:
    """Requests under way, by the sector that completes next: when they were issued, in
    s, and the sectors that are left; and flushes in order."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, int], tuple[float, int]] = {}
        self._flushes: dict[str, deque[float]] = {}

    def take(self, line: re.Match[str]) -> float | None:
        """Take a line; return how long a request took that it ends, in s."""
        dev, action, at_s = line["dev"], line["action"], float(line["at"])
        if not line["count"]:
            flushes = self._flushes.setdefault(dev, deque())
            if action == "D":
                flushes.append(at_s)
            elif action == "C" and flushes:
                return at_s - flushes.popleft()
            return None
        key, count = (dev, int(line["sector"])), int(line["count"])
        if action == "D":
            self._next[key] = at_s, count
        elif action == "R":
            # Given back to the queue: it will be issued again.
            self._next.pop(key, None)
        elif action == "C" and (request := self._next.pop(key, None)):
            begun_s, left = request
            if left <= count:
                return at_s - begun_s
            self._next[dev, key[1] + count] = begun_s, left - count
        return None
