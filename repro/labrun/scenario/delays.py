# SPDX-License-Identifier: GPL-2.0-only
"""delays: tables of biodelay's `delay` from formulas.

The kernel draws by inverting the distribution and interpolates linearly between the
points of a table. Points are therefore closer together in the tail, where a straight
line would miss the most: down to a share of 1e-6 above the last but one.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from writestall_base.errors import UserError
from writestall_base.progress import say
from writestall_base.units import duration_ns

PPB = 1_000_000_000
MAX_NS = 30_000_000_000
# The kernel takes 256 points, and an attribute's file 4096 bytes.
MAX_BYTES = 4095

Quantile = Callable[[float], float]
Number = Callable[[str], float]


def above_0_ns(text: str) -> float:
    """An argument type: 300us, 1.5ms, in ns."""
    if not (found := duration_ns(text)):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no duration: a number and ns, us, ms or s, as in 1.5ms"
        )
    return found


def positive(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 < number < math.inf):
        raise argparse.ArgumentTypeError(f"'{text}' must be a number above 0")
    return number


def shares() -> list[float]:
    """Where the table has its points: even in the body, ever closer at the end."""
    body = [i / 64 for i in range(63)]
    tail = [1 - 10 ** (-i / 12) for i in range(22, 73)]
    return sorted({*body, *tail, 1 - 1e-6})


def normal(mean_ns: float, stddev_ns: float) -> Quantile:
    """Normal distribution; points() cuts it at 0."""
    from statistics import NormalDist  # a slow machine needs half a second for it

    return NormalDist(mean_ns, stddev_ns).inv_cdf


def lognormal(median_ns: float, sigma: float) -> Quantile:
    """exp() of a normal distribution with standard deviation sigma."""
    unit = normal(0, 1)
    return lambda share: median_ns * math.exp(sigma * unit(share))


def pareto(minimum_ns: float, alpha: float) -> Quantile:
    """Share above x is (minimum / x) ** alpha."""
    return lambda share: minimum_ns * (1 - share) ** (-1 / alpha)


def uniform(least_ns: float, most_ns: float) -> Quantile:
    """Return the quantiles of delays that are equally likely between two."""
    return lambda share: least_ns + (most_ns - least_ns) * share


def points(quantile: Quantile, exact_ends: bool) -> list[tuple[int, int]]:
    """The table: (ppb, ns), rising, from 0 to 1e9 ppb."""
    ends = (0.0, 1.0) if exact_ends else (1e-9, 1 - 1e-7)
    inner = [share for share in shares() if ends[0] < share < ends[1]]
    table = [(0, quantile(ends[0]))]
    table += [(round(share * PPB), quantile(share)) for share in inner]
    table += [(PPB, quantile(ends[1]))]
    return [(ppb, round(max(ns, 0))) for ppb, ns in table]


def words(table: list[tuple[int, int]]) -> str:
    """A table as the attribute takes it; says when the kernel's bound cuts it."""
    if table[-1][1] > MAX_NS:
        whole = max((ppb for ppb, ns in table if ns <= MAX_NS), default=0)
        share = (PPB - whole) / PPB
        say(f"delay-table: the longest {share:.2g} cut to 30s")
    text = "table " + " ".join(f"{ppb}:{min(ns, MAX_NS)}" for ppb, ns in table)
    assert len(text) <= MAX_BYTES, len(text)
    return text


# Name, what its two numbers are, and what reads the second one.
FORMULAS: dict[str, tuple[str, str, Number, Callable[[float, float], Quantile]]] = {
    "normal": ("MEAN", "STDDEV", above_0_ns, normal),
    "lognormal": ("MEDIAN", "SIGMA", positive, lognormal),
    "pareto": ("MINIMUM", "ALPHA", positive, pareto),
    "uniform": ("LEAST", "MOST", above_0_ns, uniform),
}


def formula(text: str) -> str:
    """`lognormal 8ms 0.8` as biodelay takes it; raises UserError."""
    kind, *numbers = text.split()
    if kind not in FORMULAS or len(numbers) != 2:
        known = ", ".join(
            f"{name} {first} {second}" for name, (first, second, *_) in FORMULAS.items()
        )
        raise UserError(f"want one of: {known}")
    _, _, second, quantile = FORMULAS[kind]
    try:
        made = quantile(above_0_ns(numbers[0]), second(numbers[1]))
    except argparse.ArgumentTypeError as error:
        raise UserError(str(error)) from None
    return words(points(made, exact_ends=False))
