# SPDX-License-Identifier: GPL-2.0-only
"""tally: a run's latencies as counts, without their histograms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from writestall.compare.statistics import Array, quantile
from writestall.events.hlog import Interval, Log, counts_of


@dataclass(frozen=True, slots=True)
class Tally:
    """Latencies in ns, ascending, and how many there were of each; `intervals` are of
    the log."""

    values_ns: Array = field(default_factory=lambda: np.zeros(0))
    counts: Array = field(default_factory=lambda: np.zeros(0))
    intervals: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, log: Log) -> Tally:
        pairs = sorted(counts_of(log.total).items())
        values, counts = zip(*pairs, strict=True) if pairs else ((), ())
        ns, each = (np.array(row, dtype=np.float64) for row in (values, counts))
        return cls(ns, each, tuple(log.intervals))

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def quantile_ns(self, share: float) -> float:
        """The latency that this share, 0 to 1, does not exceed."""
        return float(quantile(self.values_ns, self.counts, share))

    def over(self, limit_ns: float) -> float:
        return float(self.counts[self.values_ns > limit_ns].sum())
