# SPDX-License-Identifier: GPL-2.0-only
"""hdr: write an HdrHistogram log with the standard library alone.

The format is HdrHistogram's own: its log, version 1.2 (HistogramLogWriter), and its
compressed V2 encoding of counts. The histograms are those of client/hlog.c: 1 ns to
a day, three significant digits.
"""

from __future__ import annotations

import base64
import struct
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator

HIGHEST_NS = 24 * 3600 * 10**9
DIGITS = 3
# The first bucket has 2 * 10^DIGITS values; half of each further one is new.
BUCKET_BITS = (2_000 - 1).bit_length()
HALF_BITS = BUCKET_BITS - 1
V2, V2_COMPRESSED = 0x1C849313, 0x1C849314
NS = 1_000_000_000


def place(value_ns: int) -> int:
    """Return the index of a value's count."""
    bucket = (value_ns | ((1 << BUCKET_BITS) - 1)).bit_length() - BUCKET_BITS
    return (bucket << HALF_BITS) + (value_ns >> bucket)


def encoded(values_ns: Iterable[int]) -> str:
    """Encode a histogram of the values as base64."""
    counts = Counter(place(min(value_ns, HIGHEST_NS)) for value_ns in values_ns)
    payload = b"".join(map(_zigzag, _runs(counts)))
    head = struct.pack(">iiiiqqd", V2, len(payload), 0, DIGITS, 1, HIGHEST_NS, 1.0)
    packed = zlib.compress(head + payload)
    whole = struct.pack(">ii", V2_COMPRESSED, len(packed)) + packed
    return base64.b64encode(whole).decode()


def _runs(counts: Counter[int]) -> Iterator[int]:
    """Yield the counts by index; a run of zeros is its length, negative."""
    at = 0
    for index in sorted(counts):
        if index > at:
            yield at - index
        yield counts[index]
        at = index + 1


def _zigzag(number: int) -> bytes:
    """Encode a number in 7-bit groups, its sign in the lowest bit."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def log(note: str, start_ns: int, values: Iterable[tuple[int, int]]) -> str:
    """Return the log; `values` are (when, ns), `when` and start CLOCK_MONOTONIC ns."""
    realtime_ns = time.time_ns() - time.monotonic_ns() + start_ns
    by_second: dict[int, list[int]] = {}
    for when_ns, value_ns in values:
        by_second.setdefault(max(when_ns - start_ns, 0) // NS, []).append(value_ns)
    lines = [
        f"#[{note}; start is CLOCK_MONOTONIC {start_ns} ns]",
        "#[Histogram log format version 1.2]",
        f"#[StartTime: {realtime_ns / NS:.3f} (seconds since epoch)]",
        '"StartTimestamp","EndTimestamp","Interval_Max","Interval_Compressed_Histogram"',
    ]
    lines += [
        f"{second}.000,1.000,{max(found)}.0,{encoded(found)}"
        for second, found in sorted(by_second.items())
    ]
    return "".join(f"{line}\n" for line in lines)
