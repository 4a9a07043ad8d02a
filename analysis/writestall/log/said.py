# SPDX-License-Identifier: GPL-2.0-only
"""said: link tasks by what the kernel itself says of locks: owners, lists of locks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from writestall.classify.stack import Verdict, role_of
from writestall.log.logged import LoggedTask
from writestall.log.owners import Blocker, Held
from writestall.log.stuck import LIKELY, POSSIBLE, REPORTED, Link, Stuck
from writestall.log.times import duration
from writestall_base import wait_classes as c


def reported(rows: list[Stuck], listed: list[LoggedTask]) -> dict[int, Link]:
    """What the kernel says: the owners it names, then its lists of locks.

    An owner without a stack in the log becomes a row of its own, at the end.
    """
    said = _Said(rows, listed)
    links = {}
    # Who holds a lock and has no stack becomes a row on the way.
    for at, row in enumerate(rows):
        named, listed_as = said.owner(row), said.lock_list(row)
        if named and listed_as and named.holder is not listed_as.holder:
            other = listed_as.why.removesuffix("it") + listed_as.holder.name
            more = f"{named.why}; but {other}"
            named = replace(named, why=more, hint=True)
        if link := named or listed_as:
            links[at] = link
    return links


class _Said:
    """What the kernel says about locks, by task and by lock."""

    def __init__(self, rows: list[Stuck], listed: list[LoggedTask]) -> None:
        self._rows = rows
        self._tasks: dict[tuple[str, int, int | None], Stuck] = {}
        self._others: dict[tuple[str, int, int | None, str | None], Stuck] = {}
        self._holding: dict[tuple[str, str], list[Stuck]] = defaultdict(list)
        for row in rows:
            self._keep(row)
        for task in listed:
            if (task.host, task.shot, task.pid) not in self._tasks:
                self._keep(_unseen(task, (task.shot,)))

    def _keep(self, row: Stuck) -> None:
        for shot in row.shots:
            self._tasks[row.task.host, shot, row.task.pid] = row
        for held in {held.address or held.name: held for held in row.task.held}:
            self._holding[row.task.host, held].append(row)

    def _shown(self, row: Stuck) -> Stuck:
        """The row, as one of the answer."""
        if row.task.held and not row.task.guesses and row not in self._rows:
            self._rows.append(row)
        return row

    def owner(self, row: Stuck) -> Link | None:
        """The owner that hung_task.c names."""
        said = row.task.blocker
        if said is None or said.owner is None:
            return None
        holder = self._named(row, said) or self._gone(row, said)
        confidence, why, hint = REPORTED, said.why, said.is_hint
        if late_s := row.task.owner_after_s:
            confidence, hint = LIKELY, True
            why += f", {duration(late_s)} after the stack"
        return Link(row, holder, confidence, why, hint=hint)

    def _named(self, row: Stuck, said: Blocker) -> Stuck | None:
        """The owner's stack, if the log has it: of that pid, and under that name."""
        for shot in sorted(row.shots, reverse=True):
            holder = self._tasks.get((row.task.host, shot, said.owner))
            if holder and (not holder.task.comm or holder.task.comm == said.comm):
                return self._shown(holder)
        return self._others.get((row.task.host, row.task.shot, said.owner, said.comm))

    def _gone(self, row: Stuck, said: Blocker) -> Stuck:
        """A row for an owner that the log shows no stack of."""
        host, shot = row.task.host, row.task.shot
        task = LoggedTask(said.line, said.comm, said.owner, host=host, shot=shot)
        holder = _unseen(task, row.shots)
        self._rows.append(holder)
        for shot in row.shots:
            self._others[host, shot, said.owner, said.comm] = holder
        return holder

    def _awaited(self, row: Stuck) -> Held | None:
        """What a task without a stack waits for: the last lock of its list, where that
        has one owner at a time and another task surely is it."""
        held = row.task.held
        if row.task.frames or not held or held[-1].shared or not held[-1].address:
            return None
        near = self._holding[row.task.host, held[-1].address]
        sure = any(
            task is not row and task.holds(held[-1]) and not _may_await(task, held[-1])
            for task in near
        )
        return held[-1] if sure else None

    def lock_list(self, row: Stuck) -> Link | None:
        """The holder of the lock a task waits for, by lockdep's lists.

        The same address is the same lock. A class of locks has many: without an
        address only one task may hold one of it, and that is no more than possible.
        """
        lock = row.wanted or self._awaited(row)
        if lock is None:
            return None
        near = self._holding[row.task.host, lock.address or lock.name]
        holders = [
            task
            for task in near
            if task is not row and task.shots & row.shots and task.holds(lock)
        ]
        if lock.address is None and len(holders) > 1:
            return None
        holders = _surely(holders, lock)
        if not holders:
            return None
        confidence = REPORTED if lock.address else POSSIBLE
        why = f"lockdep lists {lock.name} as held by it"
        if late_s := row.task.list_after_s:
            confidence = LIKELY if lock.address else POSSIBLE
            why += f", {duration(late_s)} after the stack"
        holder = self._shown(holders[0])
        return Link(row, holder, confidence, why, "lockdep", hint=late_s is not None)


def _may_await(task: Stuck, lock: Held) -> bool:
    """True where nobody knows whether a task holds or awaits the last lock of its list
    (kernel/locking/lockdep.c lock_acquire()): its stack is not in the log, or shows a
    sleep for a lock that is not taken where the list says."""
    asleep = not task.task.frames or (task.wanted is None and task.for_lock)
    return asleep and task.task.held[-1].is_same(lock)


def _surely(holders: list[Stuck], lock: Held) -> list[Stuck]:
    """Without those that may wait for the lock themselves, where there are several."""
    doubtful = [task for task in holders if _may_await(task, lock)]
    sure = [task for task in holders if task not in doubtful]
    return sure or (doubtful if len(doubtful) == 1 else [])


def _unseen(task: LoggedTask, shots: Iterable[int]) -> Stuck:
    """A task that the kernel names and whose stack is not in the log."""
    role, seen = role_of((), task.comm), dict.fromkeys(shots, task)
    return Stuck(task, Verdict(c.OTHER), role, seen=seen, owner=True)
