# SPDX-License-Identifier: GPL-2.0-only
"""cuts: find lines that a terminal or a console cut off at its edge.

Such a log has lines of one width and none that is wider. What a cut line still says of
a function is doubtful: its name may go on.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from writestall.classify.rules import OVERRIDES, RULES
from writestall.classify.rules.form import SLEEPS

# Narrower ones are no terminals, and lines of equal width are no sign there.
NARROWEST = 60


class Edge:
    """How wide the lines of a host are."""

    def __init__(self) -> None:
        self._widest = NARROWEST - 1
        self._lines = 0

    def cuts(self, width: int) -> bool:
        """Take the next line; True when it ends where others do, and none goes on."""
        if width > self._widest:
            self._widest, self._lines = width, 0
        self._lines += width == self._widest
        return width == self._widest and self._lines > 1


@lru_cache(maxsize=1)
def _known() -> list[str]:
    """Functions that the rules name in full."""
    rules = [name for rule in (*OVERRIDES, *RULES) for name in rule.names]
    sleeps = [name for names in SLEEPS.values() for name in names]
    return sorted({name for name in (*rules, *sleeps) if not set("*[") & set(name)})


def completed(begin: str) -> str:
    """The only known function whose name begins so; else what there is of it."""
    known = _known()
    at = bisect_left(known, begin)
    fitting = [name for name in known[at : at + 2] if name.startswith(begin)]
    return fitting[0] if len(fitting) == 1 else begin
