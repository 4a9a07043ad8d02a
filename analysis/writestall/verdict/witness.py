# SPDX-License-Identifier: GPL-2.0-only
"""witness: compare the holders of an answer with those that the locks named.

Since Linux 5.19 the kernel reports which lock a task sleeps on: a mutex with its owner,
an rw-semaphore with its writer (docs/events.md, "`block`: the lock"). The chain follows
the task that ended the wait, as it does on every other kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from writestall.chain.parts import SEEN, Chain, Part

# How the holder of the answer compares with the lock.
#   same      it is the owner that the lock named
#   passed_on it had waited for the lock, and got it from that owner, directly or
#             through others that had waited
#   other     neither
#   released  the lock named no owner (it had a reader, or is a semaphore); the stack
#             of the holder shows the release
#   inferred  the lock named no owner, and no stack shows the release
HOWS = SAME, PASSED_ON, OTHER, RELEASED, INFERRED = tuple(
    "same passed_on other released inferred".split()
)
Holders = Counter[tuple[str, str]]


def compared(chain: Chain) -> Holders:
    """Time of the waits for locks, in ns, by class of the wait and how it compares."""
    found: Holders = Counter()
    for part in _for_locks(chain.parts):
        found[part.cls, _how(part)] += part.dur_ns
    return found


def by_class(holders: Holders) -> dict[str, dict[str, int]]:
    """The same as a table: a row for each class of waiting."""
    rows: dict[str, dict[str, int]] = {}
    for (cls, how), ns in sorted(holders.items()):
        rows.setdefault(cls, dict.fromkeys(HOWS, 0))[how] = ns
    return rows


def _how(part: Part) -> str:
    if part.named is None:
        return RELEASED if part.link == SEEN else INFERRED
    if part.holder is not None and part.holder.tid == part.named.tid:
        return SAME
    return PASSED_ON if part.link == SEEN else OTHER


def _for_locks(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        if part.lock is not None:
            yield part
        yield from _for_locks(part.parts)
