# SPDX-License-Identifier: GPL-2.0-only
"""form: define the rules for who can end a wait, and apply one to two tasks.

A rule names the functions of the holder and, where a class has several kinds of waits,
those of the waiter. `source` cites the kernel function that makes it true. A stack
proves nothing about another file system or another disk: two tasks that show different
ones are never joined, unless the rule is about a device below both (`stacked`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from writestall.log.disks import PLAIN, differ
from writestall.log.holders.around import Around
from writestall.log.stuck import LIKELY, POSSIBLE, Stuck
from writestall_base import wait_classes as c

# Threads of which each journal or log has one of its own.
_JOURNAL = re.compile(r"jbd2/|xfsaild/|f2fs_ckpt-")
# File systems that lie on another one, whose functions the stack may not show.
_ABOVE = (frozenset({"overlay"}), frozenset({"ecryptfs"}))


def _is_above(one: frozenset[str], other: frozenset[str]) -> bool:
    """True where one of two stacks shows a file system that lies on another, and none
    below it."""
    return one in _ABOVE or other in _ABOVE


def _are_of_several(tasks: list[Stuck]) -> bool:
    """True where tasks belong to different disks or journals, by their names."""
    journals = {task.task.comm for task in tasks if _JOURNAL.match(task.name)}
    differs = any(differ(tasks[0].disks, task.disks) for task in tasks[1:])
    return len(journals) > 1 or differs


def names(text: str) -> re.Pattern[str]:
    """One expression for function names; spaces stand between them, `*` is any text."""
    words = (re.escape(word).replace(r"\*", r"\w*") for word in text.split())
    return re.compile("|".join(words))


def functions(pattern: re.Pattern[str]) -> list[str]:
    """The names of names() as they were written."""
    return pattern.pattern.replace(r"\w*", "*").split("|")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who can end a wait: a task that shows one of `shows`, one of `also` and none of
    `not_shows`, and is in no wait of the classes `not_in`, in one of `only_in`.

    `lock`: what is waited for, for the published table (docs/locks.md). `of`, `not_of`:
    functions that the waiter must, must not show. `caller`, `not_caller`: the function
    that chose to wait is, is not one of these. `roles`: the waiter's; all where empty.
    `any_right`: where several fit, the first is given, as possible, if they name no two
    disks: they hold it together. Without it exactly one may fit. `same_disk`: both must
    name the same disk. `same_program`: tasks of the waiter's name come first;
    `own_program`: no others count. `worker_of`: the task is named as a worker of the
    waiter's io_uring. `same_function`: the task is called by the function that chose to
    wait; `same_module`: by one of that function's module. `past`: the function of
    `shows` is not itself what waits; `not_called`: nor is one of these. `not_plain`:
    the waiter's disk may be a stacked one. `shared`: a task that shows one of these
    shares the lock, so it keeps nobody waiting who reads. `pool`: where several fit,
    and all are workers of one kind with the same stack, the first is given.
    `one_waits`: one task at a time waits so for one object; several have several.
    `needs_all`: there are many such objects, so a task of another program is the holder
    only where the log shows all that hang. `same_fs_of`: a waiter that shows one of
    these must show the holder's file system. `itself`: a waiter that shows what the
    holder does has it itself. `each_other`: two tasks may do the same and wait for each
    other.
    """

    why: str
    source: str
    shows: re.Pattern[str]
    lock: str = ""
    also: re.Pattern[str] | None = None
    not_shows: re.Pattern[str] | None = None
    of: re.Pattern[str] | None = None
    not_of: re.Pattern[str] | None = None
    caller: re.Pattern[str] | None = None
    not_caller: re.Pattern[str] | None = None
    roles: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()
    only_in: tuple[str, ...] = ()
    confidence: str = LIKELY
    any_right: bool = False
    stacked: bool = False
    same_disk: bool = False
    same_program: bool = False
    own_program: bool = False
    worker_of: bool = False
    same_function: bool = False
    same_module: bool = False
    not_plain: bool = False
    past: bool = False
    pool: bool = False
    one_waits: bool = False
    needs_all: bool = False
    itself: bool = False
    each_other: bool = False
    not_called: re.Pattern[str] | None = None
    shared: re.Pattern[str] | None = None
    same_fs_of: re.Pattern[str] | None = None

    def asks(self, waiter: Stuck) -> bool:
        """True when this rule is about such a waiter."""
        if self.roles and waiter.role not in self.roles:
            return False
        if self.of is not None and not waiter.shows(self.of):
            return False
        if self.not_of is not None and waiter.shows(self.not_of):
            return False
        if self.not_caller is not None and self.not_caller.fullmatch(waiter.caller):
            return False
        return self.caller is None or bool(self.caller.fullmatch(waiter.caller))

    def _is_holder(self, task: Stuck) -> bool:
        if task.owner and not task.runs:
            return False
        if task.verdict.cls in self.not_in or not task.shows(self.shows):
            return False
        if self.only_in and task.verdict.cls not in self.only_in:
            return False
        if self.also is not None and not task.shows(self.also):
            return False
        if self.past and self.shows.fullmatch(task.caller):
            return False
        if self.not_called is not None and self.not_called.fullmatch(task.caller):
            return False
        return self.not_shows is None or not task.shows(self.not_shows)

    def _joins(self, waiter: Stuck, task: Stuck) -> bool:
        """True unless the two show different file systems or disks."""
        if self.same_disk and not waiter.disks & task.disks:
            return False
        if self.not_plain and any(kind in PLAIN for kind, _ in waiter.disks):
            return False
        if self.shared is not None and waiter.reads and task.shows(self.shared):
            return False
        if self.stacked:
            arrays = [{d for d in t.disks if d[0] == "md"} for t in (waiter, task)]
            return not differ(frozenset(arrays[0]), frozenset(arrays[1]))
        theirs, its = waiter.file_systems, task.file_systems
        if self.same_fs_of and waiter.shows(self.same_fs_of) and not theirs & its:
            return False
        if theirs and its and not theirs & its and not _is_above(theirs, its):
            return False
        return not differ(waiter.disks_below, task.disks_below)

    def reason(self, waiter: Stuck, holder: Stuck) -> str:
        """Why the one waits for the other."""
        return self.why

    def made(self, waiter: Stuck, holder: Stuck) -> str:
        """What makes the guess: by the same, two tasks do not wait for each other."""
        return self.source + waiter.name * self.each_other

    def fitting(self, waiter: Stuck, around: Around) -> list[Stuck]:
        """Some of the tasks that may be who the waiter waits for, best first."""
        if self.one_waits and self._waits_another(waiter, around):
            return []
        if self.itself and self._is_holder(waiter):
            return [waiter]
        if self.same_function:
            found = around.inside(self, self._is_holder, waiter.caller)
        elif self.same_module:
            found = around.within(self, self._is_holder, waiter)
        elif self.worker_of:
            name = f"iou-wrk-{waiter.task.pid}"
            found = around.named(self, self._is_holder, name)
        else:
            found = around.holders(id(self), self._is_holder)
        if self.same_program or self.own_program:
            alike = around.named(self, self._is_holder, waiter.task.comm)
            same = self._joined(waiter, alike, around)
            if same or self.own_program:
                return same
        found = self._joined(waiter, found, around)
        if self.needs_all and waiter.task.has_more:
            found = [task for task in found if task.task.comm == waiter.task.comm]
        if self.confidence == POSSIBLE and not self.any_right:
            # One object of many: who names no disk may have it as well.
            return found
        return [task for task in found if waiter.disks & task.disks] or found

    def _waits_another(self, waiter: Stuck, around: Around) -> bool:
        """True where another task waits so, for another object."""
        return any(
            task.order() != waiter.order()
            and task.verdict.cls == waiter.verdict.cls
            and self._joins(waiter, task)
            and around.at_once(waiter, task)
            for task in around.waiters(self, self.asks)
        )

    def _joined(self, waiter: Stuck, tasks: list[Stuck], around: Around) -> list[Stuck]:
        """Candidates on the same file system and disk, stuck at the same time."""
        lock = None if waiter.task.list_after_s else waiter.wanted
        return [
            task
            for task in tasks
            if task.task.pid != waiter.task.pid or task.task.pid is None
            if task is not waiter and self._joins(waiter, task)
            if self.each_other or not waiter.is_like(task)
            if around.at_once(waiter, task)
            if lock is None or not task.task.held or task.holds(lock)
        ]

    def _pool(self, found: list[Stuck]) -> bool:
        """True for workers of one workqueue that all do the same."""
        kinds = {task.task.workqueue for task in found}
        same = all(task.is_like(found[0]) for task in found)
        return self.pool and same and len(kinds) == 1 and None not in kinds

    def choose(self, waiter: Stuck, found: list[Stuck]) -> tuple[Stuck, str] | None:
        """Which of those that fit, and how sure it is; None where too many do."""
        first = found[0]
        known = self.stacked or bool(waiter.file_systems & first.file_systems)
        shown = {task.file_systems for task in found} - {frozenset()}
        near = known or (len(shown) <= 1 and not waiter.file_systems)
        together = near and self.any_right and not _are_of_several(found)
        if len(found) > 1 and not together and not self._pool(found):
            return None
        doubtful = first is waiter or waiter.is_doubtful or first.guessed
        sure = known and len(found) == 1 and not doubtful
        return first, self.confidence if sure else POSSIBLE


# A rule about one object of many, or where no stack names the owner.
perhaps = partial(Holder, confidence=POSSIBLE)
GUESS = perhaps("", "", names(""))


def of_row(
    lock: str, waits: str, holds: str, why: str, source: str, *, stacked: bool = False
) -> Holder:
    """Who is inside one of the functions that hold what those that wait ask for: of one
    object that no stack names, so `possible`."""
    return perhaps(
        why,
        source,
        names(holds),
        lock=lock,
        caller=names(waits),
        not_called=names(waits),
        stacked=stacked,
    )


# What a holder of an inner lock is not: still before it, or in a queue of its own.
BEFORE = (c.DIRTY_THROTTLE, c.INODE_LOCK, c.JOURNAL_SPACE)
