# SPDX-License-Identifier: GPL-2.0-only
"""direction: find whether a log's lines stand newest first, as log viewers show them.

A head stands before its stack, `<TASK>` before the frames, who was called before the
caller; one that finds them the other way round votes for a log that is reversed.
"""

from __future__ import annotations

import re

_FRAME = re.compile(r"[\w.]\+0x[0-9a-f]|\([\w./+-]{1,120}:\d{1,6}\b")
_BOTTOM = re.compile(
    r"\b(?:ret_from_(?:fork|kernel_thread)|kthread(?!\w)|entry_SYSCALL|do_syscall_64|el0_svc"
    r"|el0t_64_sync|system_call_fastpath)"
)
_TOP = re.compile(r"\b(?:__schedule|io_schedule|schedule)\+0x")
# Votes more than the others that decide: one stack gives up to four.
ENOUGH = 6


class Votes:
    """How many neighbouring lines stand in order, and how many in reverse."""

    def __init__(self) -> None:
        self.forward = self.reverse = 0
        self._before: dict[str, str] = {}

    @property
    def decided(self) -> bool:
        """True when more lines are not likely to change the answer."""
        return abs(self.forward - self.reverse) >= ENOUGH

    @property
    def newest_first(self) -> bool:
        """True for a log that stands in reverse."""
        return self.reverse > self.forward

    def line(self, source: str, body: str) -> None:
        """Take the next line; `source` is the host and task or CPU that printed it."""
        before = self._before.get(source, "")
        self._before[source] = body
        framed, was_framed = _is_frame(body), _is_frame(before)
        if framed and was_framed:
            self._inside(before, body)
        elif framed or was_framed:
            beside = before if framed else body
            if "</TASK>" in beside:
                self._vote(was_framed)
            elif "<TASK>" in beside or "Call Trace:" in beside:
                self._vote(framed)

    def _inside(self, before: str, body: str) -> None:
        for pattern, comes_last in ((_BOTTOM, True), (_TOP, False)):
            is_one = pattern.search(body) is not None
            if is_one != (pattern.search(before) is not None):
                self._vote(is_one == comes_last)

    def _vote(self, in_order: bool) -> None:
        self.forward += in_order
        self.reverse += not in_order


def _is_frame(body: str) -> bool:
    return _FRAME.search(body) is not None
