# SPDX-License-Identifier: GPL-2.0-only
"""attaching: give the tasks of a log what the kernel says about their locks."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict

from writestall.log.stacks import LoggedTask
from writestall.log.told.owners import LockLines


def attach(
    tasks: list[LoggedTask],
    said: LockLines,
    host: str = "",
) -> set[int]:
    """Give tasks what is said about locks; add those that only a list of locks names.

    A line belongs to the task's last report before it. Returned are the lines of the
    stacks that the kernel shows because they are an owner's.
    """
    shown = set()
    lines = [task.line for task in tasks]
    stacks: dict[int | None, list[LoggedTask]] = defaultdict(list)
    for task in tasks:
        task.lockdep_off |= said.turned_off and task.host == host
        if task.host == host:
            stacks[task.pid].append(task)
    for blocker in said.blockers:
        if found := _last(stacks[blocker.pid], blocker.line):
            found.blocker = blocker
        after = bisect_right(lines, blocker.line)
        if after < len(tasks) and tasks[after].pid == blocker.owner:
            shown.add(tasks[after].line)
    # Tasks without a stack count if they hold a lock that is in another list as well.
    times = Counter(key for entry in said.lists for key in entry.names())
    for entry in said.lists:
        found = _last(stacks[entry.pid], entry.line)
        if found is None:
            if all(times[key] == 1 for key in entry.names()):
                continue
            found = LoggedTask(entry.line, entry.comm, entry.pid, host=host)
            tasks.append(found)
            stacks[entry.pid].insert(0, found)
        found.held = tuple(entry.locks)
    tasks.sort(key=lambda task: task.line)
    return shown


def _last(stacks: list[LoggedTask], line: int) -> LoggedTask | None:
    """The last of a task's stacks up to a line."""
    at = bisect_right(stacks, line, key=lambda task: task.line)
    return stacks[at - 1] if at else None
