# SPDX-License-Identifier: GPL-2.0-only
"""survey: goes through all chains once, in several processes where there are many.

A run has more chains than memory should hold, and each is made from the events within
a fraction of a millisecond: they are made, looked at by everybody who asks, and let go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol, overload

from writestall import workers
from writestall.blocks import Blocks
from writestall.chain import Explainer
from writestall.events import Write
from writestall.parts import Chain
from writestall.roots import Roots

# Chains that stay when they are made: about 5 kB each.
MOST_KEPT = 10_000
# Chains that are worth a process of their own.
WORTH_A_PROCESS = 5_000


class Chains(Sequence[Chain]):
    """The chains of some writes; each is made when it is asked for."""

    def __init__(
        self,
        explainer: Explainer,
        writes: Sequence[tuple[int, Write]],
        kept: dict[int, Chain] | None = None,
    ) -> None:
        self.writes = writes
        self._explainer = explainer
        self._kept = {} if kept is None else kept

    def __len__(self) -> int:
        return len(self.writes)

    def __iter__(self) -> Iterator[Chain]:
        return map(self._made, self.writes)

    @overload
    def __getitem__(self, at: int) -> Chain: ...
    @overload
    def __getitem__(self, at: slice) -> Chains: ...
    def __getitem__(self, at: int | slice) -> Chain | Chains:
        if isinstance(at, slice):
            return self.of(self.writes[at])
        return self._made(self.writes[at])

    def of(self, writes: Sequence[tuple[int, Write]]) -> Chains:
        """The chains of others of the run's writes."""
        return Chains(self._explainer, writes, self._kept)

    def _made(self, row: tuple[int, Write]) -> Chain:
        id, write = row
        known = self._kept.get(id)
        if known is None:
            known = self._explainer.chain(id, write)
            if len(self._kept) < MOST_KEPT:
                self._kept[id] = known
        return known


@dataclass(frozen=True, slots=True)
class Source:
    """What chains are made of, and what they come down to."""

    blocks: Blocks
    roots: Roots


class Tally(Protocol):
    """What one question's answer is gathered in, chain by chain."""

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""

    def close(self) -> None:
        """Called behind the last chain, where it was gathered."""

    def join(self, other: Any) -> None:
        """Takes in what was gathered of the chains behind its own."""


def survey(
    chains: Chains, source: Source, makes: Sequence[Callable[[], Tally]]
) -> list[Tally]:
    """What each of `makes` gathers of all chains, which come in their order."""

    def part(places: slice) -> list[Tally]:
        tallies = [make() for make in makes]
        for chain in chains[places]:
            for tally in tallies:
                tally.add(chain, source)
        for tally in tallies:
            tally.close()
        return tallies

    # A chain has about as many parts as its write slept.
    costs = [8 + (write.sleeps or 0) for _, write in chains.writes]
    first, *others = workers.each(part, _places(costs))
    for other in others:
        for tally, more in zip(first, other, strict=True):
            tally.join(more)
    return first


def _places(costs: Sequence[int]) -> list[slice]:
    """As many stretches as there are to be processes, about equal in cost."""
    count = workers.count(len(costs), WORTH_A_PROCESS)
    sums = list(accumulate(costs, initial=0))
    edges = [bisect_left(sums, sums[-1] * at / count) for at in range(count)]
    return [slice(*ends) for ends in zip(edges, [*edges[1:], len(costs)], strict=True)]
