# SPDX-License-Identifier: GPL-2.0-only
"""caveats: count what an answer does not know: losses, gaps and guesses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.chain.collect import Question, Source
from writestall.chain.parts import INFERRED, Chain


@dataclass(slots=True)
class _Links:
    """A collector: waits for a task, and time without a cause, in ns."""

    links: int = 0
    inferred: int = 0
    held_ns: int = 0
    inferred_ns: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, chain: Chain, _: Source) -> None:
        """Takes a chain in."""
        for part in chain.parts:
            if part.holder:
                self.held_ns += part.dur_ns
                self.inferred_ns += part.dur_ns if part.link == INFERRED else 0
        ahead = [*chain.parts]
        while ahead:
            part = ahead.pop()
            if part.parts:
                ahead += part.parts
                if part.holder:
                    self.links += 1
                    self.inferred += part.link == INFERRED
            elif not part.explained:
                self.reasons[f"{part.task.comm}: {part.why}"] += part.dur_ns

    def close(self) -> None:
        """Nothing is left to do."""

    def join(self, other: _Links) -> None:
        """Takes in those of later chains."""
        self.links += other.links
        self.inferred += other.inferred
        self.held_ns += other.held_ns
        self.inferred_ns += other.inferred_ns
        self.reasons.update(other.reasons)


LINKS = Question(_Links)


@dataclass(frozen=True, slots=True)
class Caveats:
    """What limits an answer; `links` are waits for a task. Times in ns."""

    links: int
    guessed_links: int
    held_ns: int
    guessed_ns: int
    unexplained_ns: int
    reasons: list[tuple[str, int]]


def caveats(answer: Answer) -> Caveats:
    """Count the waits whose holder is inferred, and unexplained time by reason."""
    found = answer.gathered(LINKS)
    return Caveats(
        found.links,
        found.inferred,
        found.held_ns,
        found.inferred_ns,
        found.reasons.total(),
        found.reasons.most_common(12),
    )
