# SPDX-License-Identifier: GPL-2.0-only
"""authors: say which cgroups filled the journal's transactions.

By the `handles` events of `journal_commits`; nothing where there is none but the root,
whose tasks are the kernel's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from writestall.chain.cgroups import ROOT, Cgroups, Labels
from writestall.events.contract import Commit, Handles
from writestall.events.stream import Stream
from writestall_base.units import percent

MOST_NAMES = 3


class Authors:
    """The handles of one tracer's stream."""

    def __init__(self, stream: Stream, labels: Labels) -> None:
        self._cgroups = Cgroups(stream.cgroups)
        self._labels = labels
        self.handles = stream.handles

    def of(self, commit: Commit) -> str:
        """Who filled a commit's transaction, in words; empty for none but the root."""
        key = (commit.dev, commit.transaction)
        own = (row for row in self.handles if (row.dev, row.transaction) == key)
        return self.words(own)

    def words(self, rows: Iterable[Handles]) -> str:
        """Who had the most blocks, then handles, in words."""
        sums: dict[str, tuple[int, int]] = {}
        for row in rows:
            known = self._cgroups.of(row.cgroup, row.cgroup_v1)
            path = known if isinstance(known, str) else ""
            blocks, handles = sums.get(path, (0, 0))
            sums[path] = (blocks + row.blocks, handles + row.handles)
        if not any(path not in ("", ROOT) for path in sums):
            return ""
        whole = sum(blocks for blocks, _ in sums.values()) or 1
        largest = sorted(sums.items(), key=lambda row: row[1], reverse=True)
        shares = [
            f"{self._name(path)} {percent(blocks, whole)}"
            f" ({blocks} blocks, {handles} handles)"
            for path, (blocks, handles) in largest[:MOST_NAMES]
        ]
        more = len(largest) - len(shares)
        return ", ".join(shares + ([f"{more} more"] if more else []))

    def _name(self, path: str) -> str:
        return "the root cgroup" if path in ("", ROOT) else self._labels.of(path)


def line(stream: Stream, labels: Labels, dev: str | None) -> Iterator[str]:
    """Yield who filled the transactions of a device; nothing without events."""
    rows = [row for row in stream.handles if dev is None or row.dev == dev]
    words = Authors(stream, labels).words(rows)
    if words:
        yield f"transactions were filled by {words}"
