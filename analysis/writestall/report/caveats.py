# SPDX-License-Identifier: GPL-2.0-only
"""caveats: count what an answer does not know: losses, gaps and guesses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from writestall.chain.collect import Collector, Question, Source
from writestall.chain.parts import INFERRED, Chain


@dataclass(slots=True)
class Caveats(Collector):
    """A collector of what limits an answer: waits for a task, the links, and time
    without a cause; times in ns."""

    links: int = 0
    guessed_links: int = 0
    held_ns: int = 0
    guessed_ns: int = 0
    causeless: Counter[str] = field(default_factory=Counter)

    def add(self, chain: Chain, _: Source) -> None:
        """Takes a chain in."""
        for part in chain.parts:
            if part.holder:
                self.held_ns += part.dur_ns
                self.guessed_ns += part.dur_ns if part.link == INFERRED else 0
        ahead = [*chain.parts]
        while ahead:
            part = ahead.pop()
            if part.parts:
                ahead += part.parts
                if part.holder:
                    self.links += 1
                    self.guessed_links += part.link == INFERRED
            elif not part.explained:
                self.causeless[f"{part.task.comm}: {part.why}"] += part.dur_ns

    def join(self, other: Caveats) -> None:
        """Takes in those of later chains."""
        self.links += other.links
        self.guessed_links += other.guessed_links
        self.held_ns += other.held_ns
        self.guessed_ns += other.guessed_ns
        self.causeless.update(other.causeless)

    @property
    def unexplained_ns(self) -> int:
        """The time without a cause."""
        return self.causeless.total()

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The same by task and reason, largest first."""
        return self.causeless.most_common(12)


CAVEATS = Question(Caveats)
