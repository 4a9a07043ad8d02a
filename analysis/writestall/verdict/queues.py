# SPDX-License-Identifier: GPL-2.0-only
"""queues: say how a recorded disk and its replay went with depth, and with distance.

Depths and gaps are those of docs/events.md, of reads and writes that are no barriers:
these wait for the disk's cache, however many others are in flight.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any

from writestall.chain.answers import Answer
from writestall.verdict import episodes

OPERATIONS = ("read", "write")
BARRIERS = {"preflush", "fua"}
# What a depth, or a gap, is counted as: DEPTHS, GAP_BITS and GAPS of bpf/core/rows.h.
DEEPEST, GAP_BITS, FARTHEST = 7, 4, 24
# A mean of fewer bios says little; so much more at the deepest is a large dependence.
FEWEST, LARGE = 20, 2.0
MS = 1_000_000
DEPTH, GAP = (re.compile(rf"\d{{1,18}}(:[1-9]\d{{0,17}}){{{n}}}") for n in (2, 1))
NO_QUEUE = (
    "latency grew with depth: the replayed disk does not queue, so a load that submits"
    " more at once waits less than on the recorded one (docs/replay.md)"
)

# Operation, flags; latencies, depths and gaps of windows; depth, gap and latency of
# bios by themselves.
Window = tuple[str, Any, Any, Any]
Bio = tuple[str, Any, int, int | None, int | None]


@dataclass(slots=True)
class Queue:
    """Bios of one operation: how many at each depth and their time, and at each gap,
    by the least of a group."""

    counts: Counter[int] = field(default_factory=Counter)
    sums_ns: Counter[int] = field(default_factory=Counter)
    gaps: Counter[int] = field(default_factory=Counter)

    def means_ms(self) -> dict[int, float]:
        """The mean latency at each depth of which there are enough."""
        enough = sorted(at for at, count in self.counts.items() if count >= FEWEST)
        return {at: self.sums_ns[at] / self.counts[at] / MS for at in enough}

    @property
    def growth(self) -> float:
        """How often the mean at the least depth that at the largest is."""
        means = list(self.means_ms().values())
        return means[-1] / means[0] if len(means) > 1 and means[0] else 1.0

    def by_depth(self) -> str:
        """The means, in words."""
        means = self.means_ms().items()
        return ", ".join(f"{ms:.3g} ms at {at}" for at, ms in means) or "unknown"

    def by_gap(self) -> str:
        """The share that continued the one before, and how far the others were."""
        total = sum(self.gaps.values())
        if total < FEWEST:
            return "unknown"
        share = f"{self.gaps[0] / total:.0%}"
        if self.gaps[0] == total:
            return share
        return f"{share}, the others {size(self._median())} or more away at the median"

    def _median(self) -> int:
        """Of the gaps that are none of 0."""
        others = sorted((at, count) for at, count in self.gaps.items() if at)
        before = list(accumulate(count for _, count in others))
        return others[bisect_right(before, before[-1] // 2)][0]


def size(sectors: int) -> str:
    """Of a gap."""
    kib = sectors / 2
    return f"{kib:g} KiB" if kib < 1024 else f"{kib / 1024:g} MiB"


def queues(windows: Iterable[Window], bios: Iterable[Bio]) -> dict[str, Queue]:
    """By operation."""
    found: dict[str, Queue] = {}
    for op, flags, depths, gaps in windows:
        if op in OPERATIONS and BARRIERS.isdisjoint(flags):
            queue = found.setdefault(op, Queue())
            for at, count, ns in _numbers(DEPTH, depths):
                queue.counts[at] += count
                queue.sums_ns[at] += ns
            for at, count in _numbers(GAP, gaps):
                queue.gaps[at] += count
    for op, flags, ns, depth, gap in bios:
        if op in OPERATIONS and BARRIERS.isdisjoint(flags):
            queue = found.setdefault(op, Queue())
            if depth and depth > 0:
                at = 1 << min(depth.bit_length() - 1, DEEPEST)
                queue.counts[at] += 1
                queue.sums_ns[at] += ns
            if gap is not None:
                queue.gaps[_least(abs(gap))] += 1
    return found


def _numbers(form: re.Pattern[str], texts: Iterable[str]) -> Iterator[list[int]]:
    """Those of each text that has the form."""
    for text in texts:
        if form.fullmatch(text):
            yield [int(word) for word in text.split(":")]


def _least(sectors: int) -> int:
    """The least gap of the group that a gap is in."""
    power = (sectors.bit_length() - 1) // GAP_BITS * GAP_BITS
    return 1 << min(power, FARTHEST) if sectors else 0


def _of_recording(kinds: Any) -> dict[str, Queue]:
    """Of the series that `export --to disk` wrote; an older one lacks both."""
    windows = (
        (kind["op"], kind["flags"], *more)
        for kind in kinds
        for _, _, *more in kind["windows"]
        if len(more) == 2
    )
    bios = (
        (kind["op"], kind["flags"], int(ns), *more)
        for kind in kinds
        for _, ns, _, *more in kind["slow"]
        if len(more) == 2
    )
    return queues(windows, bios)


def _of_replay(answer: Answer) -> dict[str, Queue]:
    """Of the disk that was delayed, while it was."""
    armed_ns, length_ns = episodes.armed(answer)
    dev, times = episodes.device(answer), range(armed_ns, armed_ns + length_ns)
    windows = (
        (row.op or "", row.flags, row.depths, row.gaps)
        for row in answer.stream.series
        if row.dev == dev and row.t_ns in times
    )
    bios = (
        (io.op or "", io.flags, io.dur_ns - (io.throttled_ns or 0), io.depth, io.gap)
        for _, io in answer.stream.ios
        if io.dev == dev and io.t_ns in times
    )
    return queues(windows, bios)


def lines(answer: Answer) -> list[str]:
    """Both disks side by side, where the recorded one is known. Raises UserError."""
    recorded = episodes.recorded(answer, _of_recording)
    replayed = _of_replay(answer) if recorded else {}
    return list(
        chain.from_iterable(_of_operation(op, recorded, replayed) for op in OPERATIONS)
    )


def _of_operation(
    op: str, recorded: dict[str, Queue], replayed: dict[str, Queue]
) -> Iterator[str]:
    was, now = (side.get(op, Queue()) for side in (recorded, replayed))
    if was.means_ms():
        yield f"{op}s by queue depth: {was.by_depth()}; replayed: {now.by_depth()}"
    if sum(was.gaps.values()) >= FEWEST:
        yield f"{op}s that are sequential: {was.by_gap()}; replayed: {now.by_gap()}"
    if was.growth >= LARGE:
        yield f"{op}s: {NO_QUEUE}"
