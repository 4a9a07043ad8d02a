# SPDX-License-Identifier: GPL-2.0-only
"""curve_picture: draw curves with their bands side by side, on one scale of factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from writestall.compare.curve import Curve
from writestall.compare.ranking import QUANTILES
from writestall_base.units import many

HEIGHT_PX, AXIS_PX = 130, 22
MOST_TICKS = 7
LEAST_SPAN = 1.25  # the scale goes at least so far from 1x, in both directions


@dataclass(frozen=True, slots=True)
class Drawn:
    """A curve; `line` and `band` are points in percent of the picture's width and
    height, `words` what they show."""

    name: str
    note: str
    line: str
    band: str
    words: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Curves with a common scale; labels with their places in percent, `one` is that of
    1x."""

    drawn: list[Drawn]
    labels: list[tuple[float, str]]
    ticks: list[tuple[float, str]]
    one: float
    height: int = HEIGHT_PX
    full_height: int = HEIGHT_PX + AXIS_PX


@dataclass(frozen=True, slots=True)
class _Scale:
    """Logarithms of the factors at the bottom and at the top."""

    low: float
    high: float

    @classmethod
    def of(cls, curves: Iterable[Curve]) -> _Scale:
        """The scale that all curves and 1x are on."""
        ends = [float(end) for one in curves for end in (*one.low, *one.high)]
        low = min([1 / LEAST_SPAN, *ends])
        return cls(math.log(low), math.log(max([LEAST_SPAN, *ends])))

    def y(self, factor: float) -> float:
        """The place of a factor, in percent from the top."""
        return round(100 * (self.high - math.log(factor)) / (self.high - self.low), 2)

    def labels(self) -> list[tuple[float, str]]:
        """Round factors."""
        for steps in ((1, 1.2, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
            found = [step * 10.0**power for power in range(-12, 13) for step in steps]
            inside = [one for one in found if self.low <= math.log(one) <= self.high]
            if len(inside) <= MOST_TICKS:
                break
        return [(self.y(one), f"{one:g}x") for one in inside]


def picture(curves: Sequence[Curve]) -> Picture:
    """Draw the curves in the order given."""
    scale = _Scale.of(curves)
    places = [100 * at / (len(QUANTILES) - 1) for at in range(len(QUANTILES))]

    def points(xs: Iterable[float], factors: Iterable[float]) -> str:
        return " ".join(
            f"{x:g},{scale.y(float(one)):g}" for x, one in zip(xs, factors, strict=True)
        )

    drawn = [
        Drawn(
            one.option,
            f"over {one.baseline}, {many(one.rounds, 'round')}",
            points(places, one.factor),
            points([*places, *places[::-1]], [*one.high, *one.low[::-1]]),
            _words(one),
        )
        for one in curves
    ]
    ticks = list(zip(places, QUANTILES, strict=True))
    return Picture(drawn, scale.labels(), ticks, scale.y(1.0))


def _words(curve: Curve) -> str:
    return ", ".join(
        f"{name} {factor:.3g}x ({low:.3g}x to {high:.3g}x)"
        for name, factor, low, high in zip(
            QUANTILES, curve.factor, curve.low, curve.high, strict=True
        )
    )
