# SPDX-License-Identifier: GPL-2.0-only
"""doubts: turns an answer into what it does not know: losses, gaps and guesses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from writestall.model import Answer
from writestall.parts import INFERRED, Chain
from writestall.survey import Source


@dataclass(frozen=True, slots=True)
class Doubts:
    """Times in ns; `links` are waits for a task, by how their holder is known."""

    links: int
    guessed_links: int
    held_ns: int
    guessed_ns: int
    unexplained_ns: int
    reasons: list[tuple[str, int]]


@dataclass(slots=True)
class Guesses:
    """The same, while it is gathered."""

    links: int = 0
    guessed_links: int = 0
    held_ns: int = 0
    guessed_ns: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, chain: Chain, _: Source) -> None:
        """Takes a chain in."""
        for part in chain.parts:
            self.held_ns += part.dur_ns if part.holder else 0
            guessed = part.holder and part.link == INFERRED
            self.guessed_ns += part.dur_ns if guessed else 0
        ahead = list(chain.parts)
        while ahead:
            part = ahead.pop()
            ahead += part.parts
            if part.holder:
                self.links += 1
                self.guessed_links += part.link == INFERRED
            if not part.parts and not part.explained:
                self.reasons[f"{part.task.comm}: {part.why}"] += part.dur_ns

    def close(self) -> None:
        """Nothing is left to do."""

    def join(self, other: Guesses) -> None:
        """Takes in those of later chains."""
        self.links += other.links
        self.guessed_links += other.guessed_links
        self.held_ns += other.held_ns
        self.guessed_ns += other.guessed_ns
        self.reasons.update(other.reasons)


def doubts(answer: Answer) -> Doubts:
    """Counts the waits whose holder is inferred, and time without a cause by why."""
    found = answer.gathered(Guesses)
    return Doubts(
        found.links,
        found.guessed_links,
        found.held_ns,
        found.guessed_ns,
        found.reasons.total(),
        found.reasons.most_common(12),
    )
