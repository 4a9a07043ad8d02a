# SPDX-License-Identifier: GPL-2.0-only
"""witness: compare the holders of an answer with the owners that locks named.

A kernel with CONFIG_DETECT_HUNG_TASK_BLOCKER tells which lock a task sleeps on, and a
mutex or the writer of an rw-semaphore is named in the lock (docs/events.md, `holder`).
The chain follows the task that ended the wait, as it does on every other kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from writestall.chain.parts import SEEN, Chain, Part

SAME, PASSED_ON, OTHER = "same", "passed_on", "other"


def compared(chain: Chain) -> Counter[tuple[str, str]]:
    """Time of the waits for locks that named their owner, in ns, by class and how.

    same       the holder of the answer is the owner that the lock named
    passed_on  it had waited for the lock itself, and got it from that owner, directly
               or through others who had waited
    other      neither
    """
    found: Counter[tuple[str, str]] = Counter()
    for part in _named(chain.parts):
        found[part.cls, _how(part)] += part.dur_ns
    return found


def by_class(holders: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """The same as a table: a row for each class of waiting."""
    rows: dict[str, dict[str, int]] = {}
    for (cls, how), ns in sorted(holders.items()):
        rows.setdefault(cls, {SAME: 0, PASSED_ON: 0, OTHER: 0})[how] = ns
    return rows


def _how(part: Part) -> str:
    assert part.named is not None
    if part.holder is not None and part.holder.tid == part.named.tid:
        return SAME
    return PASSED_ON if part.link == SEEN else OTHER


def _named(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        if part.named is not None:
            yield part
        yield from _named(part.parts)
