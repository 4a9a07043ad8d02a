# SPDX-License-Identifier: GPL-2.0-only
"""doubts: turns an answer into what it does not know: losses, gaps and guesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from writestall.model import Answer
from writestall.parts import INFERRED, Part


@dataclass(frozen=True, slots=True)
class Doubts:
    """Times in ns; `links` are waits for a task, by how their holder is known."""

    links: int
    guessed_links: int
    held_ns: int
    guessed_ns: int
    unexplained_ns: int
    reasons: list[tuple[str, int]]


def doubts(answer: Answer) -> Doubts:
    """Counts the waits whose holder is inferred, and time without a cause by why."""
    links = guessed = held_ns = guessed_ns = 0
    reasons: Counter[str] = Counter()
    for chain in answer.chains:
        for part in chain.parts:
            held_ns += part.dur_ns if part.holder else 0
            guessed_ns += part.dur_ns if part.holder and part.link == INFERRED else 0
            for link in _links(part):
                links += 1
                guessed += link.link == INFERRED
        for leaf in chain.leaves():
            if not leaf.explained:
                reasons[f"{leaf.task.comm}: {leaf.why}"] += leaf.dur_ns
    return Doubts(
        links, guessed, held_ns, guessed_ns, reasons.total(), reasons.most_common(12)
    )


def _links(part: Part) -> Iterator[Part]:
    if part.holder:
        yield part
    for inner in part.parts:
        yield from _links(inner)
