# SPDX-License-Identifier: GPL-2.0-only
"""caps: when a cgroup's limit kept I/O back, by blk-throttle's own log.

For `writestall check` only, as delays.py is.
"""

from __future__ import annotations

from msgspec import Struct

from writestall.chain.parts import Part
from writestall.chain.roots import Root
from writestall.common.windows import Cover, Window, window_of
from writestall.events.contract import Ns


class Throttled(Struct, tag_field="ev", tag="throttled", frozen=True, gc=False):
    """A time in which bios of a cgroup were queued while the disk had no request: a row
    of `throttled.jsonl`."""

    t_ns: Ns
    dur_ns: Ns
    cgroup: str


class CapTruth:
    """The times of the limits, as delays.Truth has those of injected delays."""

    submitter_delayed = False

    def __init__(self, rows: list[Throttled]) -> None:
        self.every = Cover(map(window_of, rows))
        self._covers = {
            group: Cover(window_of(row) for row in rows if row.cgroup == group)
            for group in {row.cgroup for row in rows}
        }

    def names(self, found: Part | Root) -> bool:
        """Whether a leaf or a root is one that a limit can be the cause of."""
        return found.cap is not None

    def of_ns(self, leaf: Part, window: Window) -> int:
        """How much of a window the limit was in force that the leaf names."""
        cover = self._covers.get(leaf.cap.cgroup) if leaf.cap else None
        return cover.common_ns(window) if cover else 0
