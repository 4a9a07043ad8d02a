# SPDX-License-Identifier: GPL-2.0-only
"""bounded: keep the number of a metric's series, and what is remembered, bounded."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol

from writestall.watch.ring import S

OTHER = "other"
# Longer than Prometheus waits between two scrapes; and ever new names make at most so
# many new series in that time.
IDLE_NS = 3600 * S
REMEMBERED = "writestall.classify.", "writestall.chain.", "writestall.log."
# Interrupts make ever new stacks. What is kept of them is at its most after minutes.
MOST_REMEMBERED = 256


class Removable(Protocol):
    """A metric of prometheus_client, whose series can be ended."""

    def remove(self, *labelvalues: Any) -> None:
        """End the series with these label values."""


class Series:
    """The label values of metrics: `most` sets, and `other` for the rest.

    A set without a stall for IDLE_NS makes room for a new one: its series end. What
    they had counted is not added to `other`: Prometheus has it, and rate() would count
    it a second time. A set that comes back begins at 0, as a counter does after a
    restart.
    """

    def __init__(self, most: int, *metrics: Removable) -> None:
        self._most, self._metrics = most, metrics
        # When each set stalled last, the one that is idle for longest first.
        self._last_ns: OrderedDict[tuple[str, ...], int] = OrderedDict()

    def of(self, now_ns: int, *values: str) -> tuple[str, ...]:
        """These values, or as many times `other`; `now_ns` is when they stalled."""
        if values not in self._last_ns and not self._has_room(now_ns):
            return (OTHER,) * len(values)
        self._last_ns[values] = now_ns
        self._last_ns.move_to_end(values)
        return values

    def _has_room(self, now_ns: int) -> bool:
        if len(self._last_ns) < self._most:
            return True
        values, last_ns = next(iter(self._last_ns.items()))
        if now_ns - last_ns < IDLE_NS:
            return False
        del self._last_ns[values]
        for metric in self._metrics:
            metric.remove(*values)
        return True


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
