# SPDX-License-Identifier: GPL-2.0-only
"""clocks: tell CLOCK_MONOTONIC as time of day, and when that clock was stepped."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

STEP_NS = 500_000_000


def _ahead_now_ns() -> int:
    """How far the time of day is ahead of CLOCK_MONOTONIC."""
    return time.time_ns() - time.monotonic_ns()


class Clocks:
    """The two clocks of this host, or of one whose run is replayed.

    known  whether the time of day is; else there is no text for it
    """

    def __init__(
        self, ahead_ns: Callable[[], int] = _ahead_now_ns, *, known: bool = True
    ) -> None:
        self._of_clocks, self._known = ahead_ns, known
        self._ahead_ns = ahead_ns()

    def stepped_s(self) -> float:
        """How far the time of day was set since the last call; 0 if it was not.

        Durations do not depend on it.
        """
        now_ns = self._of_clocks()
        step_ns, self._ahead_ns = now_ns - self._ahead_ns, now_ns
        return step_ns / 1e9 if abs(step_ns) >= STEP_NS else 0.0

    def text(self, t_ns: int) -> str:
        """A time of CLOCK_MONOTONIC as time of day here; empty for unknown."""
        if not self._known:
            return ""
        moment = datetime.fromtimestamp((t_ns + self._ahead_ns) / 1e9)
        return moment.isoformat(sep=" ", timespec="milliseconds")
