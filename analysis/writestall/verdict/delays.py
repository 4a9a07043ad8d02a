# SPDX-License-Identifier: GPL-2.0-only
"""delays: the injected delays of a run, by time and by submitter.

For `writestall check` only: a test asserts that nothing that `writestall explain`
imports imports this module.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from writestall.chain.parts import Part, Task
from writestall.chain.roots import Root
from writestall.classify.owners import owner_name
from writestall.common.windows import Cover, Window, window_of
from writestall.events.contract import Io, Ns
from writestall.events.stream import Stream
from writestall_base import wait_classes as c

_Submitter = tuple[int, frozenset[str]]  # thread id, and what it acts for
_WORKER = re.compile("kworker/")
# From submit_bio() to the injector, on an emulated machine.
_SAME_NS = 1_000_000
# In these modes the submitter itself is delayed, until it runs again.
SUBMITTER_DELAYED = frozenset(("sleep", "spin"))


class BioDelay(Struct, tag_field="ev", tag="bio_delay", frozen=True, gc=False):
    """One delayed bio: a row of `truth.jsonl`, the injector's record."""

    t_ns: Ns
    dur_ns: Ns
    tid: int | None = None
    comm: str | None = None
    dev: str | None = None
    mode: str | None = None
    op: str | None = None
    sector: int | None = None
    bytes: int | None = None
    requested_ns: Ns | None = None


class Truth:
    """The injected delays, of all submitters and of each.

    A submitter is its thread. A worker, or one that no event names, is any thread that
    acts for the same: all work of the XFS log is the XFS log's. What a kernel worker
    acted for then, its io event shows, else the stacks of its sleeps at any time.
    """

    def __init__(self, rows: Sequence[BioDelay], stream: Stream) -> None:
        self.submitter_delayed = all(row.mode in SUBMITTER_DELAYED for row in rows)
        self.every = Cover(map(window_of, rows))
        self._windows: dict[_Submitter, list[Window]] = {}
        acting = _Acting(stream)
        for row in rows:
            key = (row.tid or 0, acting.names(row))
            self._windows.setdefault(key, []).append(window_of(row))
        self._covers: dict[Task, Cover] = {}

    def names(self, found: Part | Root) -> bool:
        """Whether a leaf or a root is one that the delays can be the cause of."""
        return found.cls == c.DEVICE_IO

    def of_ns(self, leaf: Part, window: Window) -> int:
        """How much of a window the delays of a leaf's submitter cover."""
        submitter = leaf.submitter
        if submitter not in self._covers:
            self._covers[submitter] = self._cover(submitter)
        return self._covers[submitter].common_ns(window)

    def _cover(self, submitter: Task) -> Cover:
        return Cover(
            window
            for (tid, names), windows in self._windows.items()
            if _is_same(submitter, tid, names)
            for window in windows
        )


def _is_same(submitter: Task, tid: int, names: frozenset[str]) -> bool:
    """Whether a thread, which acts for these, is a submitter or acts for the same."""
    if submitter.tid and not _WORKER.match(submitter.comm):
        return tid == submitter.tid
    return submitter.name in names


class _Acting:
    """What the threads of a stream act for."""

    def __init__(self, stream: Stream) -> None:
        self._ever: dict[int, set[str]] = {}
        for shape in stream.blocks.shapes:
            name = owner_name(shape.kstack, shape.comm or "?")
            self._ever.setdefault(shape.tid, set()).add(name)
        self._ios: dict[int, list[Io]] = {}
        for _, io in sorted(stream.ios, key=lambda row: row[1].t_ns):
            self._ios.setdefault(io.tid, []).append(io)

    def names(self, row: BioDelay) -> frozenset[str]:
        """What a delayed bio's submitter acted for: one name if its event is there."""
        comm, own = row.comm or "?", self._ios.get(row.tid or 0, [])
        # submit_bio() comes first, then the injector.
        at = bisect_right(own, row.t_ns, key=lambda io: io.t_ns) - 1
        if at >= 0 and row.t_ns - own[at].t_ns < _SAME_NS:
            return frozenset((owner_name(own[at].kstack, comm),))
        ever = self._ever.get(row.tid or 0, set())
        return frozenset((*ever, owner_name((), comm)))
