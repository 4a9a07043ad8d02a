# SPDX-License-Identifier: GPL-2.0-only
"""totals: sum up all stalled writes, by class, root and convoy."""

from __future__ import annotations

from array import array

from writestall.chain.collect import Source
from writestall.chain.operations import Sums, add_operations
from writestall.chain.parts import WAIT, Chain, Part
from writestall.chain.roots import Root
from writestall_base import wait_classes as c

_CLASSES = {cls: number for number, cls in enumerate(c.WAIT_CLASSES)}
_NO_ROOT = Root(c.UNEXPLAINED, "")


class Totals:
    """A collector (collect.py); times are in ns.

    by_class, by_root  stall time, in the order that they were met in
    by_operation       of each root the time of devices by operation
    convoys            for each write a number that those of one convoy share
    main_roots         for each write what most of it comes down to, and `main_ns` how
                       much of it; that of a write of no length is unexplained
    """

    def __init__(self) -> None:
        self.explained_ns = 0
        self.by_class: dict[str, int] = {}
        self.by_root: dict[Root, int] = {}
        self.by_operation: Sums = {}
        self.convoys, self.main_ns = array("q"), array("q")
        self.main_roots: list[Root] = []

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""
        by_class, by_root = self.by_class, self.by_root
        for part in chain.parts:
            self.explained_ns += part.explained_ns
            by_class[part.cls] = by_class.get(part.cls, 0) + part.dur_ns
        main, main_ns = _NO_ROOT, 0
        for root, ns in source.roots.of(chain).items():
            by_root[root] = by_root.get(root, 0) + ns
            if ns > main_ns:
                main, main_ns = root, ns
        add_operations(self.by_operation, chain, source.roots, source.operations)
        self.convoys.append(_convoy(chain))
        self.main_roots.append(main)
        self.main_ns.append(main_ns)

    def close(self) -> None:
        """Nothing is left to do."""

    def join(self, other: Totals) -> None:
        """Takes in those of later chains."""
        self.explained_ns += other.explained_ns
        for cls, ns in other.by_class.items():
            self.by_class[cls] = self.by_class.get(cls, 0) + ns
        for root, ns in other.by_root.items():
            self.by_root[root] = self.by_root.get(root, 0) + ns
        for root, operations in other.by_operation.items():
            of_root = self.by_operation.setdefault(root, {})
            for op, ns in operations.items():
                of_root[op] = of_root.get(op, 0) + ns
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
