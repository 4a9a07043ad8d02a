# SPDX-License-Identifier: GPL-2.0-only
"""to_hlog: write an HdrHistogram log of stalled writes, tagged by class.

One line per second and class; the tag is what the write waited for longest. Format:
HdrHistogram's HistogramLogWriter, version 1.2, with tags. The hdrhistogram package
reads tags but does not write them, so the lines are formatted here.
"""

from __future__ import annotations

from hdrh.histogram import HdrHistogram

from writestall.chain.answers import Answer
from writestall.chain.parts import Chain
from writestall.common.scales import S
from writestall.events.hlog import DIGITS, HIGHEST_NS
from writestall.export.tables import main_class
from writestall_base.units import printable

_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max"'


def log(answer: Answer) -> str:
    """Format the log; values are durations in ns, times seconds from the start."""
    start_ns = answer.run.get("window", "start_ns")
    first_ns = min(write.t_ns for _, write in answer.writes)
    if not isinstance(start_ns, int) or start_ns > first_ns:
        start_ns = first_ns
    groups: dict[tuple[int, str], list[Chain]] = {}
    for chain in answer.chains:
        second = (chain.write.t_ns - start_ns) // S
        groups.setdefault((second, main_class(chain)), []).append(chain)
    lines = [_interval(key, groups[key]) for key in sorted(groups)]
    return "".join(f"{line}\n" for line in [*_header(answer, start_ns), *lines])


def _header(answer: Answer, start_ns: int) -> list[str]:
    wall_ns = answer.run.realtime_ns(start_ns) or 0
    head = [
        "#[writestall: ns of stalled writes by what each waited for longest; "
        f"start is CLOCK_MONOTONIC {start_ns} ns]",
        "#[Histogram log format version 1.2]",
        f"#[StartTime: {wall_ns / S:.3f} (seconds since epoch)]",
    ]
    head += [f"#[note: {printable(note)}]" for note in answer.notes]
    return [*head, f'{_LEGEND},"Interval_Compressed_Histogram"']


def _interval(key: tuple[int, str], chains: list[Chain]) -> str:
    histogram = HdrHistogram(1, HIGHEST_NS, DIGITS)
    for chain in chains:
        # The histogram's values are limited to a day.
        histogram.record_value(min(chain.write.dur_ns, HIGHEST_NS))
    second, cls = key
    payload = histogram.encode().decode()
    top = float(histogram.get_max_value())
    return f"Tag={cls},{second}.000,1.000,{top:.3f},{payload}"
