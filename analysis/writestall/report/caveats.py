# SPDX-License-Identifier: GPL-2.0-only
"""caveats: count what an answer does not know: losses, gaps and guesses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from writestall.chain import tally
from writestall.chain.answers import Answer


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
    sums = answer.details
    words, reasons = sums.ledger.words.values, Counter[str]()
    for *_, number, ns in sums.rows(tally.Q_REASON):
        comm, why = divmod(number, tally.REASONS)
        reasons[f"{words[comm]}: {sums.ledger.why(why)}"] += ns
    return Caveats(
        sums.totals[tally.LINKS],
        sums.totals[tally.GUESSED_LINKS],
        sums.totals[tally.HELD],
        sums.totals[tally.GUESSED],
        reasons.total(),
        reasons.most_common(12),
    )
