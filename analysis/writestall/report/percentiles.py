# SPDX-License-Identifier: GPL-2.0-only
"""percentiles: draw percentile curves of latency logs over a scale of nines.

A number of nines is a rarity as a power of ten: 1 for 90 %, 2 for 99 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from writestall.common import scales
from writestall.events.hlog import Log
from writestall_base.units import ms

# The curves' coordinates; the page scales them to its width.
SIZE = 1000
DECADE_PX = 38
# Points of a curve per decade of rarity, and the most decades that are drawn.
STEPS, MOST_NINES = 20, 8
# The percentiles of the table next to the curve.
TABLE = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)


@dataclass(frozen=True, slots=True)
class Curve:
    """Curves in SVG's points, ticks in percent across and px down, and a table."""

    lines: dict[str, str]
    height: int
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[int, str]]
    rows: list[tuple[str, list[str]]]

    @property
    def full_height(self) -> int:
        """Px of the curves and the axis below them."""
        return self.height + 22


def curve(logs: dict[str, Log]) -> Curve | None:
    """Draw curves of the logs, `corrected` and `uncorrected`; None without a log."""
    if not logs:
        return None
    values = {key: _values(log) for key, log in logs.items()}
    nines = max(1.0, *(_rarities(log.count)[-1] for log in logs.values()))
    each = [ns for at in values.values() for ns in at.values()]
    low = math.floor(math.log10(max(1, min(each))))
    high = max(low + 1, math.ceil(math.log10(max(1, *each))))
    return Curve(
        {key: _points(log, values[key], nines, low, high) for key, log in logs.items()},
        (high - low) * DECADE_PX,
        [
            (scales.share(at, nines), f"{round(_percentile(at), 10):g} %")
            for at in range(int(nines) + 1)
        ],
        [
            ((high - at) * DECADE_PX, scales.label(10**at))
            for at in range(low, high + 1)
        ],
        [(scales.quantile(at), [ms(ns[at]) for ns in values.values()]) for at in TABLE],
    )


def _values(log: Log) -> dict[float, int]:
    """A log's latencies in ns at the percentiles that are drawn or in the table."""
    wanted = [*map(_percentile, _rarities(log.count)), *TABLE]
    found = log.total.get_percentile_to_value_dict(wanted)
    values = {percentile: int(ns) for percentile, ns in found.items()}
    return values | {100.0: int(log.total.get_max_value())}


def _rarities(writes: int) -> list[float]:
    """Points of the curve, none rarer than one write of all."""
    most, points = 0, [0.0]
    while most < MOST_NINES and 10 ** (most + 1) <= writes:
        points += [most + at / STEPS for at in range(1, STEPS + 1)]
        most += 1
    return points


def _percentile(nines: float) -> float:
    return 100 * (1 - 10**-nines)


def _points(
    log: Log, values: dict[float, int], nines: float, low: int, high: int
) -> str:
    """The curve's points; the last is the slowest write."""
    at = [(rarity, values[_percentile(rarity)]) for rarity in _rarities(log.count)]
    at.append((nines, values[100.0]))
    return " ".join(
        f"{SIZE * rarity / nines:.1f},"
        f"{SIZE * (high - math.log10(max(1, ns))) / (high - low):.1f}"
        for rarity, ns in at
    )
