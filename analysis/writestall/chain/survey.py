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

from writestall.chain.columns import W_SLEEPS, WRITE
from writestall.chain.explainer import Explainer
from writestall.chain.parts import Chain
from writestall.chain.roots import Roots
from writestall.chain.sums import Counted, count
from writestall.chain.tally import Asked
from writestall.common import workers
from writestall.events.blocks import Blocks
from writestall.events.contract import Write

# Chains that stay when they are made: about 5 kB each.
MOST_KEPT = 10_000
# Chains that are worth a process of their own; that are only counted, by machine code.
WORTH_A_PROCESS, WORTH_ONE_FAST = 5_000, 100_000


class Chains(Sequence[Chain]):
    """The chains of some writes; each is made when it is asked for."""

    __slots__ = ("_kept", "explainer", "writes")

    def __init__(
        self,
        explainer: Explainer,
        writes: Sequence[tuple[int, Write]],
        kept: dict[int, Chain] | None = None,
    ) -> None:
        self.writes = writes
        self.explainer = explainer
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
        return Chains(self.explainer, writes, self._kept)

    def _made(self, row: tuple[int, Write]) -> Chain:
        id, write = row
        known = self._kept.get(id)
        if known is None:
            known = self.explainer.chain(id, write)
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


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found on one way through: sums, and what each of `makes` gathered."""

    counted: Counted
    tallies: list[Tally]

    def join(self, other: Survey) -> None:
        """Takes in what was found of the chains behind its own."""
        self.counted.join(other.counted)
        for tally, more in zip(self.tallies, other.tallies, strict=True):
            tally.join(more)


def survey(
    chains: Chains,
    source: Source,
    asked: Asked,
    makes: Sequence[Callable[[], Tally]] = (),
    most: int | None = None,
) -> Survey:
    """Counts all chains, and has the first `most` gathered, in their order."""
    ledger = chains.explainer.ledger
    writes = ledger.writes(chains.writes, source.roots)
    # What all processes use is made before there are several.
    count(ledger, writes[:0], asked)
    if makes and chains:
        chains.explainer.chain(*chains.writes[0])

    def part(places: tuple[slice, slice]) -> Survey:
        own = slice(places[0].start * WRITE, places[0].stop * WRITE)
        tallies = [make() for make in makes]
        for chain in chains[places[1]] if makes else ():
            for tally in tallies:
                tally.add(chain, source)
        for tally in tallies:
            tally.close()
        return Survey(count(ledger, writes[own], asked), tallies)

    # A chain has about as many parts as its write slept.
    costs = [8 + sleeps for sleeps in writes[W_SLEEPS::WRITE]]
    worth = WORTH_A_PROCESS if makes or not ledger.fast else WORTH_ONE_FAST
    processes = workers.count(len(costs), worth)
    parts = zip(
        _places(costs, processes), _places(costs[:most], processes), strict=True
    )
    first, *others = workers.each(part, [*parts])
    for other in others:
        first.join(other)
    return first


def _places(costs: Sequence[int], count: int) -> list[slice]:
    """So many stretches, about equal in cost."""
    sums = list(accumulate(costs, initial=0))
    edges = [bisect_left(sums, sums[-1] * at / count) for at in range(count)]
    return [slice(*ends) for ends in zip(edges, [*edges[1:], len(costs)], strict=True)]
