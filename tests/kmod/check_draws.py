# SPDX-License-Identifier: GPL-2.0-only
"""check_draws: compare COUNT drawn delays in each file of a folder with their
distribution."""

import bisect
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

COUNT, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
# Kolmogorov's distribution at 0.1 %: sqrt(-ln(0.001 / 2) / 2)
CRITICAL = math.sqrt(-math.log(0.001 / 2) / 2) / math.sqrt(COUNT)
TABLE = [(0, 0), (0.5, 10_000), (0.9, 20_000), (0.99, 40_000), (1, 90_000)]


def drawn(name: str) -> list[int]:
    values = [int(line) for line in (FOLDER / name).read_text().split()]
    assert len(values) >= COUNT, f"{name}: {len(values)} draws of {COUNT}"
    return values[:COUNT]


def table_cdf(x: float) -> float:
    for (p0, x0), (p1, x1) in pairwise(TABLE):
        if x < x1:
            return p0 + (p1 - p0) * (x - x0) / (x1 - x0)
    return 1.0


def distance(name: str, cdf: Callable[[float], float]) -> float:
    """Largest gap between the drawn and the exact distribution function."""
    values = sorted(drawn(name))
    return max(
        max(cdf(x) - i / COUNT, (i + 1) / COUNT - cdf(x)) for i, x in enumerate(values)
    )


def replayed_cdf() -> Callable[[float], float]:
    """The distribution of delays drawn from the lognormal one."""
    recorded = sorted(drawn("lognormal"))
    return lambda x: bisect.bisect_right(recorded, x) / COUNT


def main() -> None:
    assert set(drawn("fixed")) == {5000}
    exact: dict[str, Callable[[float], float]] = {
        "uniform": lambda x: (x - 1000) / 20_000,
        "table": table_cdf,
        "normal": NormalDist(20_000, 6_000).cdf,
        "lognormal": lambda x: NormalDist(0, 0.8).cdf(math.log(x / 5_000)),
        "pareto": lambda x: 1 - (2_000 / max(x, 2_000)) ** 2,
        "replayed": replayed_cdf(),
    }
    for name, cdf in exact.items():
        gap = distance(name, cdf)
        assert gap < CRITICAL, f"{name}: {gap} >= {CRITICAL}"
        print(f"{name}: KS distance {gap:.4f} < {CRITICAL:.4f}")
    # The test can fail: another distribution does not pass it.
    assert distance("table", lambda x: min(x / 20_000, 1)) > CRITICAL
    high = sum(x == 50_000 for x in drawn("bimodal"))
    assert set(drawn("bimodal")) == {1000, 50_000}
    # 0.1 x COUNT, and 3.3 standard deviations of the binomial on both sides
    assert abs(high - 0.1 * COUNT) < 3.3 * math.sqrt(0.09 * COUNT), high
    assert drawn("table") == drawn("again"), "a seed gave other delays"
    assert drawn("table") != drawn("other"), "two seeds gave the same delays"
    correlated = drawn("correlated")
    repeats = sum(a == b for a, b in pairwise(correlated))
    assert abs(repeats - 0.5 * COUNT) < 3.3 * math.sqrt(0.25 * COUNT), repeats


main()
