# SPDX-License-Identifier: GPL-2.0-only
"""collect: make all chains once and show each to collectors, in several processes.

A run has more chains than memory should hold, and each is made from the events within
a fraction of a millisecond: they are made, shown to each collector, and dropped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Generic, Protocol, TypeVar, overload

from writestall.chain.explainer import Explainer
from writestall.chain.parts import Chain
from writestall.chain.roots import Roots
from writestall.common import workers
from writestall.events.blocks import Blocks
from writestall.events.contract import Write

# Chains that stay when they are made: about 5 kB each.
MOST_KEPT = 10_000
# Chains that are worth a process of their own.
WORTH_A_PROCESS = 5_000
# What a chain costs beside its parts, and what it costs to keep it, in parts.
CHAIN_COSTS, KEEPING_COSTS = 8, 16


class Chains(Sequence[Chain]):
    """The chains of some writes; each is made when it is asked for."""

    __slots__ = ("_explainer", "_kept", "writes")

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
    """What chains are made of, and what they come down to.

    operations  what each I/O did, by the line number of its event
    """

    blocks: Blocks
    roots: Roots
    operations: Mapping[int, str] = field(default_factory=dict)


class Collector(Protocol):
    """What one question's answer is gathered in, chain by chain; a subclass need not
    close()."""

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""

    def close(self) -> None:
        """Called behind the last chain, where it was gathered; most do nothing."""

    def join(self, other: Any) -> None:
        """Takes in what was gathered of the chains behind its own."""


C = TypeVar("C", bound=Collector)


@dataclass(frozen=True)
class Question(Generic[C]):
    """What is asked of all chains: the collector of its answer, and what that takes."""

    collector: Callable[..., C]
    given: tuple[Hashable, ...] = ()

    def ask(self) -> C:
        """A collector with nothing in it."""
        return self.collector(*self.given)


def collect(
    chains: Chains,
    source: Source,
    makes: Sequence[Callable[[], Collector]],
    keep: Callable[[], Collector] | None = None,
    most: int = 0,
) -> list[Collector]:
    """Has all chains gathered, in their order, and the first `most` kept, too.

    Returns what each of `makes` gathered, and what `keep` did.
    """

    def part(places: slice) -> list[Collector]:
        found = [make() for make in makes]
        kept = keep() if keep else None
        for at, chain in enumerate(chains[places], places.start):
            for collector in found:
                collector.add(chain, source)
            if kept and at < most:
                kept.add(chain, source)
        found += [kept] if kept else []
        for collector in found:
            collector.close()
        return found

    # A chain has about as many parts as its write slept.
    costs = [CHAIN_COSTS + (write.sleeps or 0) for _, write in chains.writes]
    if keep:
        costs[:most] = [cost + KEEPING_COSTS for cost in costs[:most]]
    count = workers.count(len(costs), WORTH_A_PROCESS)
    first, *others = workers.each(part, _places(costs, count))
    for other in others:
        for collector, more in zip(first, other, strict=True):
            collector.join(more)
    return first


def _places(costs: Sequence[int], count: int) -> list[slice]:
    """So many stretches, about equal in cost."""
    sums = list(accumulate(costs, initial=0))
    edges = [bisect_left(sums, sums[-1] * at / count) for at in range(count)]
    return [slice(*ends) for ends in zip(edges, [*edges[1:], len(costs)], strict=True)]
