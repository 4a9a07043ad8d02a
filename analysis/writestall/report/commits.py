# SPDX-License-Identifier: GPL-2.0-only
"""commits: place jbd2's commits and the stalled writes on one time axis.

Commits are events of `journal_commits`, in the explained stream or in another file in
`events/`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from writestall.chain.answers import Answer
from writestall.chain.cgroups import ROOT, Cgroups, Naming
from writestall.chain.parts import Chain
from writestall.common import scales
from writestall.common.windows import Window, common_ns, window_of
from writestall.events.contract import Commit, Handles, Write
from writestall.events.run_directory import ENGINES
from writestall.events.stream import Stream, read_stream
from writestall.report.timeline import placed
from writestall_base import wait_classes as c
from writestall_base.errors import UserError
from writestall_base.units import ms, percent

PHASES = ("locking", "flushing", "logging", "finishing")
MOST_ROWS = 20
MOST_MARKS = 1000
MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """A range of time; places are in percent of the axis."""

    x: float
    width: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A commit, the stalled writes that it overlaps with, and who filled it."""

    commit: Commit
    at_s: float
    phases: tuple[int, ...]
    stalls: int
    common_ns: int
    authors: str


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits and stalls on one axis; `rows` are the longest commits, by time."""

    count: int
    rows: list[Row]
    commits: list[Mark]
    stalls: list[Mark]
    ticks: list[tuple[float, str]]


def commits(answer: Answer, start_ns: int, gaps: list[str]) -> Commits | None:
    """Draw the picture; None without commit events. Read errors are added to `gaps`."""
    streams = journals(answer, gaps)
    authors = [Authors(stream, answer.labels) for stream in streams if stream.handles]
    dev = answer.run.get("device", "dev")
    rows = (row for stream in streams for row in stream.commits)
    found = [row for row in rows if dev is None or row.dev in (None, dev)]
    if not found:
        return None
    found.sort(key=lambda row: row.t_ns)
    writes = [write for _, write in answer.writes]
    longest = sorted(found, key=lambda row: -row.dur_ns)
    shown = sorted(longest[:MOST_ROWS], key=lambda row: row.t_ns)
    ends = [window_of(row)[1] for row in found]
    ends += [window_of(write)[1] for write in writes]
    axis = start_ns, max(start_ns + 1, *ends)
    return Commits(
        len(found),
        [_row(commit, writes, start_ns, authors) for commit in shown],
        [mark for commit in longest[:MOST_MARKS] for mark in _marks(commit, axis)],
        [_stall(chain, axis) for chain in answer.slowest[:MOST_MARKS]],
        scales.ticks((axis[1] - start_ns) / 1e9, 10),
    )


def journals(answer: Answer, gaps: list[str]) -> list[Stream]:
    """The streams with commits: the explained one, or those beside it."""
    if answer.stream.commits:
        return [answer.stream]
    found = []
    for path in sorted((answer.run.path / "events").glob("*.jsonl")):
        if path.stem not in ENGINES:
            try:
                found.append(read_stream(path))
            except UserError as error:
                gaps.append(str(error))
    return found


def _phases(commit: Commit) -> tuple[int, ...]:
    return tuple(getattr(commit, f"{name}_ns") for name in PHASES)


def _row(
    commit: Commit, writes: list[Write], start_ns: int, authors: list[Authors]
) -> Row:
    window = window_of(commit)
    before = bisect_left(writes, window[1], key=lambda write: write.t_ns)
    all_ns = [common_ns(window_of(write), window) for write in writes[:before]]
    common = [ns for ns in all_ns if ns]
    at_s = (commit.t_ns - start_ns) / 1e9
    by = "; ".join(filter(None, (each.of(commit) for each in authors)))
    return Row(commit, at_s, _phases(commit), len(common), sum(common), by)


def _marks(commit: Commit, axis: Window) -> Iterator[Mark]:
    """A mark for each phase of a commit."""
    at_ns = commit.t_ns
    number = commit.transaction if commit.transaction is not None else "?"
    for name, ns in zip(PHASES, _phases(commit), strict=True):
        title = f"transaction {number}: {name} {ms(ns)} of {ms(commit.dur_ns)}"
        if ns:
            yield Mark(*placed((at_ns, at_ns + ns), axis), name, title)
        at_ns += ns


def _stall(chain: Chain, axis: Window) -> Mark:
    """A mark for a stalled write, of what it waited for longest."""
    write = chain.write
    main = max(chain.parts, key=lambda part: part.dur_ns, default=None)
    title = f"{chain.task.comm}/{write.tid} stalled for {ms(write.dur_ns)}"
    place = placed(window_of(write), axis)
    return Mark(*place, main.cls if main else c.OTHER, title)


class Authors:
    """Which cgroups filled the journal's transactions, by the handles of one stream.

    Nothing where there is none but the root, whose tasks are the kernel's.
    """

    def __init__(self, stream: Stream, labels: Naming) -> None:
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
        return "the root cgroup" if path in ("", ROOT) else self._labels(path)


def filled_by(stream: Stream, labels: Naming, dev: str | None) -> Iterator[str]:
    """Yield who filled the transactions of a device; nothing without events."""
    rows = [row for row in stream.handles if dev is None or row.dev == dev]
    words = Authors(stream, labels).words(rows)
    if words:
        yield f"transactions were filled by {words}"
