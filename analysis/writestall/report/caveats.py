# SPDX-License-Identifier: GPL-2.0-only
"""caveats: turns an answer into what it does not know: losses, gaps and guesses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from writestall.chain import tally
from writestall.chain.answers import Answer


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
    sums = answer.details
    words, reasons = sums.ledger.words.values, Counter[str]()
    for *_, number, ns in sums.rows(tally.Q_REASON):
        comm, why = divmod(number, tally.REASONS)
        reasons[f"{words[comm]}: {sums.ledger.why(why)}"] += ns
    return Doubts(
        sums.totals[tally.LINKS],
        sums.totals[tally.GUESSED_LINKS],
        sums.totals[tally.HELD],
        sums.totals[tally.GUESSED],
        reasons.total(),
        reasons.most_common(12),
    )
