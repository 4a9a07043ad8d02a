# SPDX-License-Identifier: GPL-2.0-only
"""sums: gathers what is told of all chains together, slowest first."""

from __future__ import annotations

from array import array

from writestall import classes as c
from writestall.parts import WAIT, Chain, Part
from writestall.roots import Root
from writestall.survey import Source

_CLASSES = {cls: at for at, cls in enumerate(c.WAIT_CLASSES)}


class Sums:
    """Times in ns. The arrays have an entry for each chain, in their order.

    behind      a number that writes of one convoy share
    main_roots  places in `roots` of what most of a chain comes down to, and `main_ns`
                how much of it; that of a write of no length is unexplained
    """

    def __init__(self) -> None:
        self.explained_ns = 0
        self.by_class: dict[str, int] = {}
        self.by_root: dict[Root, int] = {}
        self.roots: list[Root] = []
        self._places: dict[Root, int] = {}
        self.behind, self.main_ns = array("q"), array("q")
        self.main_roots = array("I")

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""
        by_class, by_root = self.by_class, self.by_root
        for part in chain.parts:
            self.explained_ns += part.explained_ns
            by_class[part.cls] = by_class.get(part.cls, 0) + part.dur_ns
        main, main_ns = _NOTHING, 0
        for root, ns in source.roots.of(chain).items():
            by_root[root] = by_root.get(root, 0) + ns
            if ns > main_ns or main is _NOTHING:
                main, main_ns = root, ns
        self.behind.append(_behind(chain))
        self.main_roots.append(self._place(main))
        self.main_ns.append(main_ns)

    def close(self) -> None:
        """Nothing is left to do."""

    def join(self, other: Sums) -> None:
        """Takes in those behind its own."""
        self.explained_ns += other.explained_ns
        for cls, ns in other.by_class.items():
            self.by_class[cls] = self.by_class.get(cls, 0) + ns
        for root, ns in other.by_root.items():
            self.by_root[root] = self.by_root.get(root, 0) + ns
        self.behind += other.behind
        self.main_ns += other.main_ns
        places = [self._place(root) for root in other.roots]
        self.main_roots.extend([places[at] for at in other.main_roots])

    def main_root(self, at: int) -> tuple[Root, int]:
        """What most of the chain with that place comes down to, and how much of it."""
        return self.roots[self.main_roots[at]], self.main_ns[at]

    def _place(self, root: Root) -> int:
        place = self._places.setdefault(root, len(self.roots))
        if place == len(self.roots):
            self.roots.append(root)
        return place


_NOTHING = Root(c.UNEXPLAINED, "")


def _behind(chain: Chain) -> int:
    """The event the longest root rests on, and what the write itself waited for."""
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
