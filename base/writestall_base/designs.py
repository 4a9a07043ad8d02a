# SPDX-License-Identifier: GPL-2.0-only
"""designs: how many rounds a comparison needs before it can decide anything.

The error rates and the smallest p-values of its tests
(docs/compare-statistics.md): what plans a comparison and what reads it must agree.
"""

from __future__ import annotations

import math

# No option is called better or worse in more than so many comparisons of equal ones ...
FAMILY_ALPHA = 0.05
# ... and half of this is the largest probability that a pair is named the wrong way.
PAIR_ALPHA = 0.01
# The workload of a comparison on a recording that makes its calls again.
RECORDED_CALLS = "recorded-calls"
# Both extremes of five runs enclose the median with 93.75 %; of four, with 87.5 %.
LEAST_RUNS = 5
# What the looks that a plan names may spend of the error rates together.
PLANNED = 0.8
# A FAIL's error probability is shared by its two ways: the median's bound, which needs
# many runs, and the mean's.
BY_MEDIAN, BY_MEAN = 0.8, 0.2


def is_clear(p: float, adjusted_p: float, level: float = 1.0) -> bool:
    """Whether a test is clear; `level` is its look's part of both alphas."""
    return p <= PAIR_ALPHA * level and adjusted_p <= FAMILY_ALPHA * level


def largest_clear_p(pairs: int, level: float = 1.0) -> float:
    """The p below which each of so many pairs is clear, whatever the others' are."""
    return min(PAIR_ALPHA, FAMILY_ALPHA / pairs) * level


def least_rounds(pairs: int, columns: int, level: float = PLANNED) -> int:
    """The fewest rounds in which one of so many pairs can be clear at all.

    `columns` are the runs of a round that the test permutes: 3 with a repeated
    baseline, else 2.
    """
    rounds = LEAST_RUNS
    while 2.0 * columns**-rounds > largest_clear_p(pairs, level):
        rounds += 1
    return rounds


def least_runs(tail: float) -> int:
    """The fewest runs of which a median's bound is wrong with probability `tail`."""
    return math.ceil(-math.log2(tail) - 1e-9)


def least_to_judge(
    options: int, objective: bool, margin: bool, level: float = PLANNED
) -> int:
    """The fewest rounds in which each option can PASS or FAIL; 0 without a rule."""
    if not objective + margin:
        return 0
    tail = FAMILY_ALPHA * level / (options * (objective + margin))
    return least_runs(tail * BY_MEDIAN if objective else tail)
