# SPDX-License-Identifier: GPL-2.0-only
"""windows: stretches of time, what two of them share, and what many cover together.

A window is half open, [start, end), in ns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Protocol, TypeVar

Window = tuple[int, int]
T = TypeVar("T")
_start = itemgetter(0)


class Timed(Protocol):
    """An event with a start and a duration, in ns."""

    @property
    def t_ns(self) -> int: ...
    @property
    def dur_ns(self) -> int: ...


def window_of(row: Timed) -> Window:
    return row.t_ns, row.t_ns + row.dur_ns


def common_ns(a: Window, b: Window) -> int:
    """How much time two windows share."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def most_common(
    rows: Iterable[T], window: Window, place: Callable[[T], Window]
) -> T | None:
    """The row that shares most time with a window, None where none does."""
    best = max(rows, key=lambda row: common_ns(place(row), window), default=None)
    return best if best is not None and common_ns(place(best), window) else None


class Cover:
    """The union of time windows, searched by bisection."""

    def __init__(self, windows: Iterable[Window]) -> None:
        merged: list[Window] = []
        for start, end in sorted(windows):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        self.windows = merged
        lengths = (end - start for start, end in merged)
        self._before = list(accumulate(lengths, initial=0))

    def common_ns(self, window: Window) -> int:
        """How much of a window is covered."""
        start, end = window
        return max(0, self._until_ns(end) - self._until_ns(start))

    def _until_ns(self, t_ns: int) -> int:
        """How much is covered before a time."""
        at = bisect_right(self.windows, t_ns, key=_start) - 1
        if at < 0:
            return 0
        start, end = self.windows[at]
        return self._before[at] + min(t_ns, end) - start


def layered(window: Window, layers: Sequence[Cover]) -> Iterator[tuple[Window, int]]:
    """Cut a window into pieces, each with the first layer that covers it.

    What no layer covers is of the number after the last.
    """
    edges = {edge for layer in layers for both in layer.windows for edge in both}
    cuts = sorted({*window, *(edge for edge in edges if window[0] < edge < window[1])})
    ahead: tuple[Window, int] | None = None
    for piece in pairwise(cuts):
        covered = (at for at, layer in enumerate(layers) if layer.common_ns(piece))
        first = next(covered, len(layers))
        if ahead and ahead[1] == first:
            ahead = (ahead[0][0], piece[1]), first
            continue
        if ahead:
            yield ahead
        ahead = piece, first
    if ahead:
        yield ahead
