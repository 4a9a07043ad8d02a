# SPDX-License-Identifier: GPL-2.0-only
"""shots: number the moments that a log shows, so that stacks of one stood at once.

A mark (boots.py) begins a moment, and so do a task that was in this one and a gap of
more than two checks. After "Future hung task reports are suppressed" no report says
that a task is still stuck, so there a gap ends nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping

from writestall.log.boots import Boots
from writestall.log.logged import LoggedTask
from writestall.log.times import Time, gap_s


class _Host:
    """The moment that the tasks of one host are in."""

    def __init__(self, boots: Boots) -> None:
        self._boots = boots
        self._marks = deque(boots.marks)
        self._inside: set[int | None] = set()
        self._before: tuple[Time | None, int] = None, 0
        self._last: LoggedTask | None = None
        self._quotes = 0
        self.shot = -1

    def begins(self, task: LoggedTask, again: set[int]) -> bool:
        """True where a task's stack begins another moment; it is in there then."""
        ran = task.state == "R" or task.line in again
        ran |= self._is_repeated(task)
        begins = self.shot < 0 or (task.pid in self._inside and not ran)
        while self._marks and self._marks[0] <= task.line:
            self._marks.popleft()
            begins = True
        task.window_s = self._boots.window_s
        task.suppressions = bisect_right(self._boots.suppressed, task.line)
        task.has_more = self._boots.has_more(task.line)
        last, suppressions = self._before
        # Without a time, what other mails quoted is of other moments.
        begins |= not (task.time and last) and task.quotes != self._quotes
        self._quotes = task.quotes
        gap = gap_s(last, task.time) or 0
        if not task.was_stuck(-gap) and suppressions == task.suppressions:
            begins = True
        if begins:
            self._inside.clear()
        if task.pid is not None and task.state != "R":
            self._inside.add(task.pid)
        self._before = task.time or last, task.suppressions
        return begins

    def _is_repeated(self, task: LoggedTask) -> bool:
        """True for a report that follows the same of its task, at once: linux-next says
        that a task cannot die, and then that it is blocked."""
        last, self._last = self._last, task
        if last is None or (last.pid, last.frames) != (task.pid, task.frames):
            return False
        return (gap_s(last.time, task.time) or 0) < 1


def number(
    tasks: list[LoggedTask], boots: Mapping[str, Boots], again: set[int]
) -> None:
    """Give every task, in the order of time, the number of its moment.

    `again` are the lines of stacks shown because they are an owner's: these begin
    nothing. Shots of all hosts are counted together, so that no two hosts share one.
    """
    hosts = {name: _Host(found) for name, found in boots.items()}
    count = 0
    for task in tasks:
        host = hosts[task.host]
        if host.begins(task, again):
            host.shot, count = count, count + 1
        task.shot = host.shot
