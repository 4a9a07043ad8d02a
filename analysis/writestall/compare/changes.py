# SPDX-License-Identifier: GPL-2.0-only
"""changes: say what an option's stalls waited for more, or less, than its reference's.

Two runs of a round are compared class by class, and root by root: their stalled
seconds per hour add up to what both stalled in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from writestall.compare.folder import Comparison, Option, Run
from writestall_base.units import S_NS

HOUR_S = 3600
# What a run's stalls took, in ns by name.
Parts = Callable[[Run], Mapping[str, int]]
BY_CLASS: Parts = attrgetter("by_class")
BY_ROOT: Parts = attrgetter("by_root")


@dataclass(frozen=True, slots=True)
class Part:
    """A class of waiting or a root: the mean of what its stalls take more than the
    reference's of the same round, in stalled seconds per hour, and in how many rounds
    they take more and less."""

    name: str
    s_per_hour: float
    higher: int
    lower: int


@dataclass(frozen=True, slots=True)
class Change:
    """What changed most between an option and its reference, None where nothing did;
    `s_per_hour` is of all stalls."""

    option: str
    reference: str
    rounds: int
    s_per_hour: float
    wait_class: Part | None
    root: Part | None


def between(comparison: Comparison, option: Option) -> Change | None:
    """The change, in the rounds in which runs of both count and were traced."""
    reference = comparison.reference(option)
    runs = {run.round: run for run in reference.counted if run.stall_ns is not None}
    pairs = [
        (run, runs[run.round])
        for run in option.counted
        if run.stall_ns is not None and run.round in runs
    ]
    if not pairs:
        return None
    stalled = [[(run, run.stall_ns) for run in pair] for pair in pairs]
    return Change(
        option.name,
        reference.name,
        len(pairs),
        sum(_per_hour(*one) - _per_hour(*other) for one, other in stalled) / len(pairs),
        _largest(pairs, BY_CLASS),
        _largest(pairs, BY_ROOT),
    )


def _per_hour(run: Run, ns: int | None) -> float:
    return HOUR_S * (ns or 0) / S_NS / run.duration_s


def _largest(pairs: Sequence[tuple[Run, Run]], parts: Parts) -> Part | None:
    """The part whose mean gap is the largest; the first by name of equal ones."""
    names = {name for pair in pairs for run in pair for name in parts(run)}
    found = []
    for name in sorted(names):
        each = np.array(
            [
                _per_hour(one, parts(one).get(name))
                - _per_hour(other, parts(other).get(name))
                for one, other in pairs
            ]
        )
        counts = int((each > 0).sum()), int((each < 0).sum())
        found.append(Part(name, float(each.mean()), *counts))
    largest = max(found, key=lambda part: abs(part.s_per_hour), default=None)
    return largest if largest and largest.s_per_hour else None
