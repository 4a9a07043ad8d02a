# SPDX-License-Identifier: GPL-2.0-only
"""unread: say which files could not be read, at most one line a minute."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from foreign.reader import printable

PERIOD_S = 60.0
SAID = re.compile(r"not read: .*?(?:; (\d+) more before it)?$")


class Unread:
    """Takes each file that could not be read; `say` gets the lines."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said_s = float("-inf")
        self._more = self.total = 0

    def add(self, what: str, why: str) -> None:
        """Say it, or count it for the next line."""
        self.total += 1
        now_s = time.monotonic()
        if now_s - self._said_s < PERIOD_S:
            self._more += 1
            return
        more = f"; {self._more} more before it" if self._more else ""
        self._say(f"{printable(what)} not read: {why}{more}")
        self._said_s, self._more = now_s, 0


def count(line: str) -> int:
    """How many files a line of a program says were not read."""
    found = SAID.search(line)
    return 1 + int(found[1] or 0) if found else 0
