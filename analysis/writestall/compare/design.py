# SPDX-License-Identifier: GPL-2.0-only
"""design: how many rounds find an effect, judged by the runs that there are.

Rounds are drawn from those of the comparison, each option's runs divided by their
median; one run of a round is made worse by the effect, and the tests of statistics.py
are applied. What is found so, has to be found in PLANNED of 100 draws, so that it is
found in STATED although the spread of few runs is itself uncertain.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy import stats

from writestall.compare import statistics
from writestall.compare.statistics import Array
from writestall_base import designs

# Options whose medians are within this factor of the baseline's vary as it does.
ALIKE = 4.0
STATED, PLANNED = 0.8, 0.98
DRAWS = 400
SEED = 20190101
SIZES = (
    *range(5, 13),
    *(14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 80, 100, 128, 160, 200),
    *(256, 320, 400, 512, 640, 800, 1000),
)
EFFECTS = (1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)


@dataclass(frozen=True, slots=True)
class Design:
    """What a comparison can find: each option against a baseline.

    `columns` are the runs of a round that its test permutes (2, or 3 with the repeated
    baseline), `spread` is runs over their option's median, a row for each option and a
    column for each round.
    """

    spread: Array
    pairs: int
    columns: int
    level: float = 1.0

    @classmethod
    def of(
        cls, own: Array, pairs: int, columns: int, level: float = 1.0
    ) -> Design | None:
        """The design, by a row of runs for each option, the baseline's first.

        Options that measure much less or more than the baseline vary in another way,
        and are left out. None if too little is known: an effect multiplies, so that
        options that mostly measure 0 show nothing.
        """
        whole = own[:, ~np.isnan(own).any(axis=0)]
        if whole.shape[1] < designs.LEAST_RUNS:
            return None
        middle = np.median(whole, axis=1)
        alike = (middle > middle[0] / ALIKE) & (middle < middle[0] * ALIKE)
        spread = whole[alike] / middle[alike, None]
        return cls(spread, pairs, columns, level) if len(spread) >= columns else None

    def found(self, effect: float, rounds: int) -> float:
        """In which share of such comparisons the effect is clear, 0 to 1."""
        draw = np.random.default_rng(SEED)
        shape = (DRAWS, rounds)
        at = draw.integers(self.spread.shape[1], size=shape)
        rows = _distinct(draw, len(self.spread), self.columns, shape)
        blocks = self.spread[rows, at]
        blocks[0] *= effect
        p = _p_values(blocks, draw)
        clear = p <= designs.largest_clear_p(self.pairs, self.level)
        low, _, _ = statistics.interval(np.sort(blocks[0] - blocks[1], axis=-1))
        return float((clear & (low > 0)).mean())

    def rounds_for(self, effect: float) -> int | None:
        """The fewest rounds that find the effect; None if more than SIZES has."""
        least = designs.least_rounds(self.pairs, self.columns, self.level)
        sizes = [size for size in SIZES if size >= least]
        enough = bisect(sizes, False, key=lambda n: self.found(effect, n) >= PLANNED)
        return sizes[enough] if enough < len(sizes) else None

    def effect_at(self, rounds: int) -> float | None:
        """The smallest effect that so many rounds find; None if more than EFFECTS."""
        if rounds < designs.least_rounds(self.pairs, self.columns, self.level):
            return None
        enough = bisect(EFFECTS, False, key=lambda e: self.found(e, rounds) >= PLANNED)
        return EFFECTS[enough] if enough < len(EFFECTS) else None


def _distinct(
    draw: np.random.Generator, count: int, columns: int, shape: tuple[int, int]
) -> npt.NDArray[np.int64]:
    """So many different numbers below `count`, for each place of the shape."""
    first = draw.integers(count, size=shape)
    one = draw.integers(count - 1, size=shape)
    found = [first, (first + 1 + one) % count]
    if columns > 2:
        other = draw.integers(count - 2, size=shape)
        found.append((first + 1 + other + (other >= one)) % count)
    return np.array(found)


def _p_values(blocks: Array, draw: np.random.Generator) -> Array:
    """The p of the first of each block's runs; equal runs are put in random order."""
    columns, _, rounds = blocks.shape
    tied = blocks * (1 + 1e-9 * draw.random(blocks.shape))
    ranks = (tied[0] > tied[1:]).sum(axis=0) - (columns - 1) / 2
    weights = np.ptp(tied, axis=0).argsort(axis=-1).argsort(axis=-1) + 1
    sums = np.abs(np.rint(2 * (ranks * weights).sum(axis=-1)))
    if rounds <= statistics.MOST_EXACT:
        upper, middle = _upper(rounds, columns)
        found: Array = np.minimum(1.0, 2 * upper[sums.astype(int) + middle])
        return found
    squares = (np.arange(rounds) + 1.0) ** 2
    steps = 2 * np.arange(columns) - (columns - 1.0)
    return cast(
        Array, 2 * stats.norm.sf(sums, scale=np.sqrt(squares.sum() * steps.var()))
    )


@cache
def _upper(rounds: int, columns: int) -> tuple[Array, int]:
    """How probable each sum of doubled scores or a larger one is without ties, and
    where 0 is."""
    steps = 2 * np.arange(columns) - (columns - 1)
    middle = (columns - 1) * rounds * (rounds + 1) // 2
    chances = np.zeros(2 * middle + 1)
    chances[middle] = 1.0
    for weight in range(1, rounds + 1):
        rolled = [np.roll(chances, step * weight) for step in steps]
        chances = np.mean(rolled, axis=0)
    return np.cumsum(chances[::-1])[::-1], middle
