# SPDX-License-Identifier: GPL-2.0-only
"""facts: what is right about a stalled call: its holder, its root, and milliseconds.

The root and its times are right where the injector's record says so; the holder is that
of the chain. Calls in which the two do not agree are never asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from writestall.chain.answers import Answer
from writestall.chain.merge import merged, unqueued
from writestall.chain.parts import WAIT, Chain, Part, Task
from writestall.chain.roots import Root
from writestall.common.windows import Window, common_ns, window_of
from writestall.course import tables
from writestall.events.contract import Write
from writestall.events.rows import read_records
from writestall.verdict import check
from writestall.verdict.caps import CapTruth, Throttled
from writestall.verdict.delays import BioDelay, Truth
from writestall_base.units import MS_NS

# How far chain and record may be apart in a call that is asked about, and how much of
# it its root and its longest wait must be.
AGREE, LARGEST = 0.03, 0.5
ONE_IO = "io"
# What --ms may ask for; labs.toml names them.
QUANTITIES = {
    "root": "how long the call waited for its root",
    "holder": "how long the longest wait of the call took",
    ONE_IO: "how long one delayed I/O of the root takes",
    "all": "how long all stalled calls of the run together waited for the root",
    "call": "how long the call took",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is right about one call; `ms` has a row for each of QUANTITIES, `ends_ms`
    the length of each wait for its root.
    """

    write: Write
    wait: Part
    root: Root
    submitters: frozenset[Task]
    others: frozenset[Task]
    ms: dict[str, float]
    ends_ms: tuple[float, ...]

    @property
    def path(self) -> list[Part]:
        """The chain's longest waits, from the call down to the root."""
        return list(_longest(self.wait))

    @property
    def holder(self) -> Task | None:
        """Who held what the call waited for longest."""
        return self.wait.holder


class Judge:
    """What is right about the calls of one run."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._truth: Truth | CapTruth
        if log := check.limits_log(answer.run):
            throttled = read_records(log, Throttled).rows
            self._truth = CapTruth(throttled)
            self._delays = list(map(window_of, throttled))
        else:
            delayed = read_records(answer.run.path / check.RECORD, BioDelay).rows
            self._truth = Truth(delayed, answer.stream)
            self._delays = list(map(window_of, delayed))
        self._all_ns: dict[Root, int] = {}

    def clear(self) -> dict[int, Facts]:
        """The calls that may be asked about, as `explain --write` counts them."""
        most = 2 * tables.course().asked
        numbers = range(1, min(most, len(self._answer.writes)) + 1)
        found = ((number, self.facts(number)) for number in numbers)
        return {number: facts for number, facts in found if facts}

    def facts(self, number: int) -> Facts | None:
        """What is right about a call; None where chain and record do not agree."""
        chain = self._answer.slowest[number - 1]
        # As explain prints them: a lock that was handed along has its last holder.
        shown = merged(unqueued(part) for part in chain.parts)
        waits = [part for part in shown if part.kind == WAIT]
        if not waits:
            return None
        wait = max(waits, key=lambda part: part.dur_ns)
        root, root_ns = next(iter(self._answer.roots([chain]).items()))
        blamed = self._blamed(chain, root)
        right_ns = self._right_ns(blamed)
        agree = self._truth.names(root) and root_ns - right_ns <= AGREE * root_ns
        if not agree or min(wait.dur_ns, right_ns) < LARGEST * chain.write.dur_ns:
            return None
        took_ns: dict[str, float] = {
            "root": right_ns,
            "holder": wait.dur_ns,
            ONE_IO: median(end - start for start, end in self._delayed(blamed)),
            "all": self._of_all_ns(root),
            "call": chain.write.dur_ns,
        }
        return Facts(
            chain.write,
            wait,
            root,
            frozenset(leaf.submitter for leaf in blamed),
            frozenset(_tasks(chain.parts)),
            {name: ns / MS_NS for name, ns in took_ns.items()},
            tuple(leaf.dur_ns / MS_NS for leaf in blamed),
        )

    def _blamed(self, chain: Chain, root: Root) -> list[Part]:
        """The ends of a chain that come down to a root."""
        return [
            leaf
            for leaf in chain.leaves()
            if leaf.start_ns is not None and self._answer.root_of(chain, leaf) == root
        ]

    def _right_ns(self, blamed: list[Part]) -> int:
        """How much of that the record confirms."""
        return sum(self._truth.of_ns(leaf, _window(leaf)) for leaf in blamed)

    def _of_all_ns(self, root: Root) -> int:
        """How long all calls waited for a root."""
        if root not in self._all_ns:
            self._all_ns[root] = sum(
                self._right_ns(self._blamed(chain, root))
                for chain in self._answer.slowest
            )
        return self._all_ns[root]

    def _delayed(self, blamed: list[Part]) -> list[Window]:
        """The delays that were in force in these parts of a chain."""
        windows = list(map(_window, blamed))
        return [
            delay
            for delay in self._delays
            if any(common_ns(delay, window) for window in windows)
        ]


def _longest(wait: Part) -> Iterator[Part]:
    """A wait, and the longest wait of its holder meanwhile."""
    yield wait
    below = [part for part in wait.parts if part.kind == WAIT]
    if below:
        yield from _longest(max(below, key=lambda part: part.dur_ns))


def _window(leaf: Part) -> Window:
    assert leaf.start_ns is not None
    return leaf.start_ns, leaf.start_ns + leaf.dur_ns


def _tasks(parts: tuple[Part, ...]) -> Iterator[Task]:
    """All tasks of a chain."""
    for part in parts:
        yield from (one for one in (part.task, part.holder, part.owner) if one)
        yield from _tasks(part.parts)
