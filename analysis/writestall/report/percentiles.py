# SPDX-License-Identifier: GPL-2.0-only
"""percentiles: draw percentile curves of latency logs over a scale of nines."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from writestall.common import scales
from writestall.common.units import ms
from writestall.report.latency import TABLE, LatencyLog

# The curves' coordinates; the page scales them to its width.
SIZE = 1000
DECADE_PX = 38


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: `points` in SVG's format."""

    key: str
    points: str


@dataclass(slots=True)
class Curve:
    """Curves, ticks in percent across and px down, and a table."""

    lines: list[Line]
    height: int
    x_ticks: list[tuple[float, str]] = field(default_factory=list)
    y_ticks: list[tuple[int, str]] = field(default_factory=list)
    rows: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def full_height(self) -> int:
        """Px of the curves and the axis below them."""
        return self.height + 22


def curve(logs: dict[str, LatencyLog]) -> Curve | None:
    """Draw curves of the logs, `corrected` and `uncorrected`; None without a log."""
    if not logs:
        return None
    points = [point for log in logs.values() for point in log.curve]
    nines = max(max(point.nines for point in points), 1)
    most_ns = max(log.max_ns for log in logs.values())
    low = math.floor(math.log10(max(1, min(p.latency_ns for p in points))))
    high = max(low + 1, math.ceil(math.log10(max(1, most_ns))))
    lines = [Line(key, _points(log, nines, low, high)) for key, log in logs.items()]
    drawn = Curve(lines, (high - low) * DECADE_PX)
    drawn.x_ticks = [
        (scales.share(at, nines), _percentile(100 * (1 - 10**-at)))
        for at in range(int(nines) + 1)
    ]
    drawn.y_ticks = [
        ((high - at) * DECADE_PX, scales.short(10**at)) for at in range(low, high + 1)
    ]
    for at in TABLE:
        name = "max" if at == 100 else f"p{at:g}"
        drawn.rows.append((name, [ms(log.at[at]) for log in logs.values()]))
    return drawn


def _percentile(value: float) -> str:
    return f"{round(value, 10):g} %"


def _points(log: LatencyLog, nines: float, low: int, high: int) -> str:
    """The curve's points; the last is the slowest write."""
    at = [(point.nines, point.latency_ns) for point in log.curve]
    at.append((nines, log.max_ns))
    return " ".join(
        f"{SIZE * rarity / nines:.1f},"
        f"{SIZE * (high - math.log10(max(1, ns))) / (high - low):.1f}"
        for rarity, ns in at
    )
