# SPDX-License-Identifier: GPL-2.0-only
"""looks: the part of the error probability that each look at growing runs may spend.

A comparison may be read, get more rounds and be read again. The parts of all reads sum
to 1, so that the error rates of statistics.py hold for all of them together, however
they depend on each other (Bonferroni's inequality). The looks that the plan names share
PLANNED alike; each look that was added later gets half of what is left then.
"""

from __future__ import annotations

from collections.abc import Sequence

from writestall_base.designs import PLANNED


def level(rounds: int, planned: Sequence[int], added: Sequence[int] = ()) -> float:
    """The part for a read at so many rounds, 0 to 1; 0 where no look was planned."""
    if rounds in planned:
        return PLANNED / len(planned)
    if rounds in added:
        return (1 - PLANNED) / 2.0 ** (1 + list(added).index(rounds))
    return 0.0
