# SPDX-License-Identifier: GPL-2.0-only
"""distribution: the distribution of recorded delays, from samples or from buckets."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from labrun.scenario.delays import Quantile
from writestall_base.units import short

BAR = 40
# Rows of the picture, at most.
ROWS = 12


@dataclass(frozen=True)
class Bucket:
    """So many delays from `low_ns` to `high_ns`, evenly spread between them."""

    low_ns: float
    high_ns: float
    count: float = 1


@dataclass(frozen=True)
class Distribution:
    """What a disk did: how many delays, and the delay at each share of them."""

    count: float
    quantile: Quantile


def of_samples(samples_ns: Sequence[float]) -> Distribution:
    """Return the distribution of single delays, linear between neighbours."""
    ordered = sorted(samples_ns)

    def quantile(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return Distribution(len(ordered), quantile)


def of_buckets(buckets: Sequence[Bucket]) -> Distribution:
    """Return the distribution of a histogram; empty buckets do not count."""
    filled = sorted((it for it in buckets if it.count > 0), key=lambda it: it.low_ns)
    ends = list(accumulate(it.count for it in filled))

    def quantile(share: float) -> float:
        place = share * ends[-1]
        at = min(bisect_left(ends, place), len(ends) - 1)
        bucket = filled[at]
        inside = 1 - (ends[at] - place) / bucket.count
        return bucket.low_ns + (bucket.high_ns - bucket.low_ns) * inside

    return Distribution(ends[-1] if ends else 0, quantile)


def picture(found: Distribution) -> Iterator[str]:
    """The range and a histogram, a row for each step of a factor."""
    low, high = found.quantile(0), found.quantile(1)
    middle, late = found.quantile(0.5), found.quantile(0.99)
    yield (
        f"{found.count:g} delays, {short(low)} to {short(high)}, "
        f"median {short(middle)}, 99 % below {short(late)}"
    )
    edges = _edges(max(low, 1), max(high, 1))
    shares = [_share_below(found.quantile, edge) for edge in edges[1:-1]]
    parts = [b - a for a, b in zip([0.0, *shares], [*shares, 1.0], strict=True)]
    most = max(parts)
    for edge, part in zip(edges, parts, strict=False):
        bar = "#" * round(BAR * part / most)
        yield f"{short(edge):>8} {100 * part:5.1f} % {bar}".rstrip()


def _edges(low: float, high: float) -> list[float]:
    """Edges of the rows: equal factors, powers of 2 where they are few enough."""
    rows = max(1, min(ROWS, math.ceil(math.log2(high / low)) or 1))
    factor = (high / low) ** (1 / rows)
    return [low * factor**at for at in range(rows + 1)]


def _share_below(quantile: Quantile, ns: float) -> float:
    """The share of delays below one, to a thousandth: quantiles rise."""
    return bisect_left(range(1000), ns, key=lambda at: quantile(at / 1000)) / 1000
