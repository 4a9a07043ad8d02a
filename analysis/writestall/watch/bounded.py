# SPDX-License-Identifier: GPL-2.0-only
"""bounded: keep the number of a metric's series, and what is remembered, bounded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

OTHER = "other"
REMEMBERED = "writestall.classify.", "writestall.chain.", "writestall.log."
# Interrupts make ever new stacks. What is kept of them is at its most after minutes.
MOST_REMEMBERED = 256


class Series:
    """The label values of one metric: the first `most` sets, `other` for the rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[tuple[str, ...]] = set()

    def of(self, *values: str) -> tuple[str, ...]:
        """These values, or as many times `other`."""
        if values in self._known:
            return values
        if len(self._known) >= self._most:
            return (OTHER,) * len(values)
        self._known.add(values)
        return values


def forget() -> None:
    """Empty what the explainer remembers of stacks, where that is more than a little.

    A run's explainer ends with the run; this one sees stacks for weeks.
    """
    for cache in _caches():
        if cache.cache_info().currsize > MOST_REMEMBERED:
            cache.cache_clear()


def _caches() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.startswith(REMEMBERED):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_info"):
                    yield value
