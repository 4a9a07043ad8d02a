# SPDX-License-Identifier: GPL-2.0-only
"""losses: say what of a stream was lost, or was too much, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator

from writestall.events.stream import LEAVE_THE_SLEEP
from writestall.watch.explaining import Explaining
from writestall.watch.ring import S
from writestall_base.units import many

# A continuing loss is reported once in this time.
EVERY_NS = 60 * S
_MISSING = "stalls may be missing"
_GAPS = "chains may have gaps"


class Losses:
    """What was lost so far, and how much of that was reported."""

    def __init__(self, explaining: Explaining) -> None:
        self._explaining = explaining
        self._reported: dict[str, int] = {}
        self._reported_ns = -EVERY_NS
        self._named = 0

    def lines(self, now_ns: int, *, at_once: bool = False) -> Iterator[str]:
        """A line for each kind of loss that has grown, once a minute."""
        if not at_once and now_ns - self._reported_ns < EVERY_NS:
            return
        for what, count, follows in self._now():
            more = count - self._reported.get(what, 0)
            if more > 0:
                self._reported[what], self._reported_ns = count, now_ns
                yield f"LOST: {more} {what}; {follows}"
        # The first lines that could not be read, each once.
        problems = self._explaining.problems
        yield from map(str, problems[self._named :])
        self._named = len(problems)

    def summary(self) -> str:
        """Counts of reported and unreported stalls."""
        counts = self._explaining.counts
        lost = sum(counts.lost.values())
        return (
            f"{many(counts.stalls, 'stall')}, {counts.reported} reported,"
            f" {counts.unreported} too many to report;"
            f" {many(counts.events, 'event')}, {lost} lost,"
            f" {self._explaining.ring.evicted} dropped early,"
            f" {counts.unreadable} not readable"
        )

    def _now(self) -> Iterator[tuple[str, int, str]]:
        counts = self._explaining.counts
        for what, count in counts.lost.items():
            follows = _GAPS if what in LEAVE_THE_SLEEP else _MISSING
            yield f"{what}, by the tracer", count, follows
        yield "events dropped early", self._explaining.ring.evicted, _GAPS
        yield (
            "stalls at once too many",
            counts.unreported,
            "they are counted, not reported",
        )
        yield "lines that are no events", counts.unreadable, _MISSING
