# SPDX-License-Identifier: GPL-2.0-only
"""lock_lists: compare links from stacks alone with the kernel's own lists of locks.

tests/data/lock-lists/KERNEL/NAME.log.xz: kernel logs of a machine whose disk was slow,
one after the other, each behind a line `# snapshot N`. Each has the stacks of all tasks
in D state (sysrq w) and at once the locks that all tasks hold (sysrq d), or reports of
hung tasks with such lists. tests/lab/lock_lists/record.py makes them.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from writestall.log.holders.form import names
from writestall.log.links import LIKELY, REPORTED, LogAnswer, explain_log
from writestall.log.reading import LoggedTask, read_log
from writestall.log.stuck import Link, Stuck

FOLDER = Path(__file__).parents[2] / "data" / "lock-lists"
_SNAPSHOT = re.compile(r"^# snapshot (\S+)\n", re.MULTILINE)
_WRITES = names("*down_write*")
Task = tuple[str, int | None]


def snapshots(path: Path) -> Iterator[tuple[str, str]]:
    """The logs of one machine, each with its name."""
    with lzma.open(path, "rt") as file:
        _, *parts = _SNAPSHOT.split(file.read())
    yield from zip(parts[::2], parts[1::2], strict=True)


def without_lists(tasks: Iterable[LoggedTask]) -> Iterator[LoggedTask]:
    """What the same log says without lockdep and without owners of locks."""
    for task in tasks:
        if task.frames or task.guesses or not task.held:
            yield replace(
                task,
                held=(),
                blocker=None,
                list_after_s=None,
                owner_after_s=None,
                lockdep_off=False,
            )


def _of(row: Stuck) -> Task:
    return row.task.host, row.task.pid


class Compared:
    """The links that the kernel reports in one log, and those found without its word.

    `counts`: how many of the reported ones are `right`; `queued` (the holder that was
    found waits for the same lock to write, and readers queue behind it); `either` (it
    is one of two that were named); `false`; `none`; `unseen` (whoever holds the lock
    has no stack in the log). `roots`: where all that fit come down to one root, whether
    that is on the way which the kernel reports, `right` or `false`.
    """

    def __init__(self, text: str) -> None:
        self._tasks = tuple(read_log(text.splitlines()))
        self._whole = explain_log(self._tasks)
        self._bare = explain_log(tuple(without_lists(self._tasks)))
        self.counts: Counter[str] = Counter()
        self.roots: Counter[str] = Counter()
        self.false: list[tuple[Link, Link]] = []
        for link in self._whole.links.values():
            if link.confidence == REPORTED and link.waiter.task.frames:
                self._compare(link)
                self._compare_roots(link)

    @property
    def surely_false(self) -> list[tuple[Link, Link]]:
        """Those false ones that are more than `possible`."""
        return [pair for pair in self.false if pair[1].confidence == LIKELY]

    def _compare(self, link: Link) -> None:
        waiter, holders = _of(link.waiter), self._holders(link)
        if waiter in holders:
            return
        found = [one for one in self._bare.links.values() if _of(one.waiter) == waiter]
        if any(_of(one.holder) in holders for one in found):
            self.counts["right"] += 1
        elif any(self._queued(link, one) for one in found):
            self.counts["queued"] += 1
        elif found:
            self.counts["false"] += 1
            self.false.append((link, found[0]))
        else:
            self.counts[self._missed(waiter, holders)] += 1

    def _compare_roots(self, link: Link) -> None:
        at = self._whole.tasks.index(link.waiter)
        way = {_of(self._whole.tasks[step]) for step in self._whole.path(at)}
        for place, end in self._bare.whichever.items():
            if _of(self._bare.tasks[place]) == _of(link.waiter):
                right = _of(self._bare.tasks[end]) in way
                self.roots["right" if right else "false"] += 1

    def _holders(self, link: Link) -> set[Task]:
        """All that have the lock, by their lists."""
        lock, found = link.waiter.wanted, {_of(link.holder)}
        if lock is None:
            return found
        found |= {
            _of(row)
            for row in self._whole.tasks
            if row is not link.waiter
            and row.shots & link.waiter.shots
            and row.holds(lock)
        }
        return found | {
            (task.host, task.pid)
            for task in self._tasks
            if not task.frames and any(held.is_same(lock) for held in task.held)
        }

    def _queued(self, link: Link, found: Link) -> bool:
        lock, row = link.waiter.wanted, _row(self._whole, _of(found.holder))
        wanted = row.wanted if row else None
        same = lock is not None and wanted is not None and wanted.is_same(lock)
        return same and link.waiter.reads and bool(row and row.shows(_WRITES))

    def _missed(self, waiter: Task, holders: set[Task]) -> str:
        if not holders & {_of(row) for row in self._bare.tasks}:
            return "unseen"
        named = {
            _of(self._bare.tasks[one])
            for at in self._bare.choices
            if _of(self._bare.tasks[at]) == waiter
            for one in self._bare.either(at)
        }
        return "either" if named & holders else "none"


def _row(answer: LogAnswer, task: Task) -> Stuck | None:
    return next((row for row in answer.tasks if _of(row) == task), None)
