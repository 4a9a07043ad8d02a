# SPDX-License-Identifier: GPL-2.0-only
"""attached: give tasks what the kernel says about their locks."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, defaultdict

from writestall.log.boots import Boots
from writestall.log.logged import LoggedTask
from writestall.log.owners import GLOCK, LockLines, LockList
from writestall.log.times import gap_s


def attach(tasks: list[LoggedTask], said: LockLines, boots: Boots) -> set[int]:
    """Give the tasks of a host what is said about locks; add those that only a list of
    locks names.

    A line belongs to the task's last report before it, of the same boot, or to a stack
    of /proc behind it where the kernel has shown none. Returned are
    the lines of the stacks that the kernel shows because they are an owner's.
    """
    shown = set()
    lines = [task.line for task in tasks]
    stacks: dict[int | None, list[LoggedTask]] = defaultdict(list)
    for task in tasks:
        task.lockdep_off |= said.turned_off
        stacks[task.pid].append(task)
    for blocker in said.blockers:
        found = _last(stacks[blocker.pid], blocker.line, boots)
        if found is None and (first := next(iter(stacks[blocker.pid]), None)):
            # A dump of glocks stands before or behind; a stack of /proc behind.
            same = boots.number(first.line) == boots.number(blocker.line)
            found = (
                first if blocker.lock == GLOCK or (not first.time and same) else None
            )
        if found is None and blocker.waiter and blocker.owner is not None:
            # The kernel vouches for it, and its stack is missing.
            task = LoggedTask(blocker.line, blocker.waiter, blocker.pid, state="D")
            task.time, task.is_vouched = blocker.time, True
            found = _added(task, tasks, lines, stacks)
        if found:
            found.blocker = blocker
            gap = abs(gap_s(found.time, blocker.time) or 0)
            found.owner_after_s = gap if gap > boots.window_s else None
        after = bisect_right(lines, blocker.line)
        if after < len(lines) and tasks[after].pid == blocker.owner:
            shown.add(tasks[after].line)
    # Tasks without a stack count if they hold a lock that is in another list as well.
    times = Counter(key for entry in said.lists for key in entry.names())
    for entry in said.lists:
        found = _last(stacks[entry.pid], entry.line, boots)
        if found is None:
            if all(times[key] == 1 for key in entry.names()):
                continue
            task = LoggedTask(entry.line, entry.comm, entry.pid, time=entry.time)
            found = _added(task, tasks, lines, stacks)
        _hold(found, entry, boots.window_s)
    tasks.sort(key=lambda task: task.line)
    return shown


def _added(
    task: LoggedTask,
    tasks: list[LoggedTask],
    lines: list[int],
    stacks: dict[int | None, list[LoggedTask]],
) -> LoggedTask:
    """A task without a stack, as one of the tasks: it stands in the same mail as the
    stacks around it, which begin at these lines."""
    if lines:
        near = tasks[max(bisect_right(lines, task.line) - 1, 0)]
        task.host, task.quotes = near.host, near.quotes
    tasks.append(task)
    insort(stacks[task.pid], task, key=lambda one: one.line)
    return task


def _hold(task: LoggedTask, entry: LockList, window_s: int) -> None:
    """Give a task its list of locks; one of hours later only if there is none."""
    gap = abs(gap_s(task.time, entry.time) or 0)
    late = gap if gap > window_s else None
    if late is None or not task.held:
        task.held, task.list_after_s = tuple(entry.locks), late


def _last(stacks: list[LoggedTask], line: int, boots: Boots) -> LoggedTask | None:
    """The last of a task's stacks up to a line."""
    at = bisect_right(stacks, line, key=lambda task: task.line)
    if not at or boots.number(stacks[at - 1].line) != boots.number(line):
        return None
    return stacks[at - 1]
