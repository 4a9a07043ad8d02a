# SPDX-License-Identifier: GPL-2.0-only
"""totals: sum up all stalled writes, by class, root, operation, file and convoy."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

from writestall.chain.collect import Collector, Source
from writestall.chain.parts import WAIT, Chain, Part
from writestall.chain.roots import Root, Roots
from writestall.events.contract import Io, Write
from writestall_base import wait_classes as c
from writestall_base.units import percent

_CLASSES = {cls: number for number, cls in enumerate(c.WAIT_CLASSES)}
_NO_ROOT = Root(c.UNEXPLAINED, "")
# Operations, as several of them are called.
_WORDS = {
    "read": "reads",
    "write": "writes",
    "fua": "FUA writes",
    "meta_read": "metadata reads",
    "meta_write": "metadata writes",
    "flush": "flushes",
    "discard": "discards",
    "zeroes": "writes of zeroes",
    "other": "other I/O",
}
# A root is one operation's if that took as much of it; lesser ones are left out.
MOST_OF_IT, LEAST_SHARE = 0.9, 0.1
Sums = dict[Root, Counter[str]]


def operation(io: Io) -> str | None:
    """What an I/O did: `fua` of a write that must be on the medium, as the last one of
    a journal's commit must, `meta_read` and `meta_write` of metadata, else its `op`.
    """
    if io.op == "write" and "fua" in io.flags:
        return "fua"
    is_meta = io.op in ("read", "write") and "meta" in io.flags
    return f"meta_{io.op}" if is_meta else io.op


def add_operations(
    sums: Sums, chain: Chain, roots: Roots, of_event: Mapping[int, str]
) -> None:
    """Add a chain's time of devices in ns by root and operation; `of_event` has the
    operations by the line numbers of their events."""
    for leaf in chain.leaves() if of_event else ():
        if leaf.cls != c.DEVICE_IO:
            continue
        op = next((of_event[id] for id in leaf.evidence if id in of_event), None)
        if op:
            sums.setdefault(roots.leaf(chain, leaf), Counter())[op] += leaf.dur_ns


def in_words(sums: Mapping[str, int], whole_ns: int) -> str:
    """`flushes`, or `60.0 % writes, 40.0 % flushes`; nothing without events."""
    rows = sorted(sums.items(), key=lambda row: -row[1])
    if rows and rows[0][1] >= MOST_OF_IT * whole_ns:
        return _WORDS[rows[0][0]]
    return ", ".join(
        f"{percent(ns, whole_ns)} {_WORDS[op]}"
        for op, ns in rows
        if ns >= LEAST_SHARE * whole_ns
    )


class Totals(Collector):
    """A collector (collect.py); times are in ns.

    by_class, by_root  stall time, in the order that they were met in
    by_operation       of each root the time of devices by operation
    convoys            for each write a number that those of one convoy share
    main_roots         for each write what most of it comes down to, and `main_ns` how
                       much of it; that of a write of no length is unexplained
    """

    def __init__(self) -> None:
        self.explained_ns = 0
        self.by_class = Counter[str]()
        self.by_root = Counter[Root]()
        self.by_operation: Sums = {}
        self.convoys, self.main_ns = array("q"), array("q")
        self.main_roots: list[Root] = []

    def add(self, chain: Chain, source: Source) -> None:
        for part in chain.parts:
            self.explained_ns += part.explained_ns
            self.by_class[part.cls] += part.dur_ns
        main, main_ns = _NO_ROOT, 0
        for root, ns in source.roots.of(chain).items():
            self.by_root[root] += ns
            if ns > main_ns:
                main, main_ns = root, ns
        add_operations(self.by_operation, chain, source.roots, source.operations)
        self.convoys.append(_convoy(chain))
        self.main_roots.append(main)
        self.main_ns.append(main_ns)

    def join(self, other: Totals) -> None:
        self.explained_ns += other.explained_ns
        self.by_class.update(other.by_class)
        self.by_root.update(other.by_root)
        for root, operations in other.by_operation.items():
            self.by_operation.setdefault(root, Counter()).update(operations)
        self.convoys += other.convoys
        self.main_roots += other.main_roots
        self.main_ns += other.main_ns

    def main_root(self, at: int) -> tuple[Root, int]:
        """What most of the write with that place comes down to, and how much of it."""
        return self.main_roots[at], self.main_ns[at]


def _convoy(chain: Chain) -> int:
    """A number of the event the longest root rests on, and of the write's own wait."""
    parts = chain.parts
    first: Part | None = None
    leaf: Part | None = None
    while parts:
        leaf = parts[0]
        for part in parts:
            if part.dur_ns > leaf.dur_ns:
                leaf = part
        first = first or leaf
        parts = leaf.parts
    if leaf is None or first is None or leaf.kind != WAIT or not leaf.evidence:
        return -chain.id
    return leaf.evidence[0] * len(_CLASSES) + _CLASSES[first.cls]


# Rows that are named; the others are one row.
MOST_FILES = 5


def by_file(writes: Iterable[tuple[int, Write]]) -> dict[str, int]:
    """Stall time in ns of `14 fdatasync(2) of ib_logfile0`, largest first."""
    counts, sums = Counter[str](), Counter[str]()
    for _, write in writes:
        name = f"{write.name} {'to' if write.writes else 'of'} {write.path or '?'}"
        counts[name] += 1
        sums[name] += write.dur_ns
    rows = sums.most_common()
    found = {f"{counts[name]} {name}": ns for name, ns in rows[:MOST_FILES]}
    if others := rows[MOST_FILES:]:
        count = sum(counts[name] for name, _ in others)
        found[f"{count} others"] = sum(ns for _, ns in others)
    return found
