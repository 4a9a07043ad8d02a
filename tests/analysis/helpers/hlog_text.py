# SPDX-License-Identifier: GPL-2.0-only
"""hlog_text: write HdrHistogram logs, line by line."""

from __future__ import annotations

from hdrh.histogram import HdrHistogram

from writestall.events.hlog import DIGITS, HIGHEST_NS

HEADER = '#[Histogram log format version 1.3]\n"StartTimestamp","Interval_Length"\n'


def interval(*values_ns: int) -> str:
    """One interval line with these latencies."""
    histogram = HdrHistogram(1, HIGHEST_NS, DIGITS)
    for value_ns in values_ns:
        histogram.record_value(value_ns)
    return f"0.000,1.000,1.000,{histogram.encode().decode()}\n"
