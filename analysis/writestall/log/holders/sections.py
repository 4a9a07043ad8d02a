# SPDX-License-Identifier: GPL-2.0-only
"""sections: who holds a lock by what it calls between taking and releasing it.

sections.txt is made of the kernel's sources by docs/find-lock-sections.py. A task that
waits in a function for a lock, and another that is below a call which a function makes
while it has the same lock: the second may be who the first waits for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from writestall.classify.stack import is_sleep
from writestall.log.holders.around import Around, plain_name
from writestall.log.holders.form import Holder, names
from writestall.log.stuck import POSSIBLE, WRAPPER, Stuck
from writestall_base.wait_classes import WAIT_CLASSES

MUTEX, READ, WRITE, SEMAPHORE, QUEUE, WORK = "mrwsqk"
# Kinds of sleep, by the innermost functions; the first that one of them shows.
_KINDS = (
    (WORK, re.compile(r"_*(flush|cancel|drain|destroy)_\w*work\w*")),
    (MUTEX, re.compile(r"_*mutex_lock\w*|_*rt_mutex\w*")),
    (WRITE, re.compile(r"_*(rwsem_)?(call_rwsem_)?down_write\w*|percpu_down_write\w*")),
    (READ, re.compile(r"_*(rwsem_)?(call_rwsem_)?down_read\w*|_*percpu_down_read\w*")),
    (SEMAPHORE, re.compile(r"_*down(_common|_killable|_interruptible|_timeout)?")),
)
# Of which the stack does not show whether it reads or writes.
_EITHER = re.compile(r"percpu_rwsem_wait|_*rwsem_down_\w*failed\w*")
_SLEEPS_FOR = {
    MUTEX: "waits for a mutex",
    READ: "waits for an rw-semaphore",
    WRITE: "waits for an rw-semaphore",
    SEMAPHORE: "waits for a semaphore",
    WORK: "waits until a work is done",
    QUEUE: "waits for something no rule knows",
}
# kernel/time/sleep_timeout.c (timer.c up to 6.11): for a time, whatever happens.
_PAUSE = re.compile(r"msleep\w*|usleep_range\w*|ssleep|fsleep")
# fs/super.c freeze_super() waits for s_umount and, by this, for s_writers, which the
# list leaves to a rule of its own.
_UNLISTED = ("freeze_super", re.compile(r"percpu_down_write\w*"))
_ANY = MUTEX + READ + WRITE + SEMAPHORE
# More names than these say nothing.
_NAMED = 2
_ALIKE = {MUTEX: MUTEX, READ: READ + WRITE, WRITE: READ + WRITE}


class Section(NamedTuple):
    """A function that takes a lock: how, where, and what it calls with it."""

    lock: str
    how: str
    file: str
    calls: frozenset[str]


@cache
def _sections() -> Mapping[str, tuple[Section, ...]]:
    """The rows of sections.txt, by function."""
    found: dict[str, list[Section]] = defaultdict(list)
    file = ""
    for line in Path(__file__).with_name("sections.txt").read_text().splitlines():
        if not line.startswith("\t"):
            file = line
            continue
        _, function, how, lock, calls = line.split("\t")
        inside = frozenset() if calls == "-" else frozenset(calls.split())
        found[function].append(Section(lock, how, file, inside))
    return {function: tuple(rows) for function, rows in found.items()}


@cache
def _holders() -> Mapping[str, frozenset[str]]:
    """The functions that sleep with a lock, or end a wait, by its name."""
    found: dict[str, set[str]] = defaultdict(set)
    for function, rows in _sections().items():
        for row in rows:
            if row.calls:
                found[row.lock].add(function)
    return {lock: frozenset(functions) for lock, functions in found.items()}


def _sleep(waiter: Stuck) -> tuple[str, str] | None:
    """How a task waits, and the function that chose to; None if the stack does not
    show it."""
    frames = waiter.frames
    how = QUEUE
    for at, frame in enumerate(frames):
        kind = next((k for k, form in _KINDS if form.fullmatch(frame.symbol)), None)
        if kind is None and at and WRAPPER.fullmatch(frame.symbol):
            continue
        if kind is None and not is_sleep(frame.symbol):
            if not at and waiter.task.is_vouched and waiter.task.state is None:
                how = _ANY  # /proc/PID/stack leaves the function of sleeping out
            return (how, plain_name(frame.symbol)) if at or how == _ANY else None
        how = kind or (READ + WRITE if _EITHER.fullmatch(frame.symbol) else how)
    return None


def _wanted(waiter: Stuck) -> tuple[tuple[str, str], ...]:
    """The locks that a task may wait for and that a function sleeps with."""
    return tuple((lock, how) for lock, how in _asked(waiter) if lock in _holders())


def _asked(waiter: Stuck) -> tuple[tuple[str, str], ...]:
    """The locks that a task may wait for, each with how."""
    how, function = _sleep(waiter) or ("", "")
    if function == _UNLISTED[0] and waiter.shows(_UNLISTED[1]):
        return ()
    found = {
        (row.lock, row.how) for row in _sections().get(function, ()) if row.how in how
    }
    # A row may say that the function asserts a mutex: then its caller has it.
    return tuple(
        (lock, kind)
        for lock, kind in sorted(found)
        if kind != MUTEX or _holds(waiter, lock, kind) in ("", function)
    )


def wanted(waiter: Stuck) -> str:
    """The names of the locks that a task may wait for, as `a or b`; empty where
    nothing or too much fits."""
    if (_sleep(waiter) or ("", ""))[0] == _ANY:
        return ""
    # A function may wait on one of two queues, of which the list has one.
    found = dict.fromkeys(
        lock.rpartition(":")[2] for lock, how in _asked(waiter) if how != QUEUE
    )
    return " or ".join(found) if len(found) <= _NAMED else ""


def sleep_kind(waiter: Stuck) -> str:
    """The kind of a task's sleep; QUEUE where the stack does not show it."""
    how, _ = _sleep(waiter) or ("", "")
    return QUEUE if how == _ANY else how[:1] or QUEUE


def sleep_words(waiter: Stuck) -> str:
    """What a task sleeps for and where, as far as its innermost functions show."""
    _, function = _sleep(waiter) or ("", waiter.caller)
    if not function or is_sleep(function):
        return "sleeps; its stack does not show for what"
    kind = sleep_kind(waiter)
    if names := _perhaps(waiter):
        return f"waits in {function}(), perhaps for {names}"
    if kind == QUEUE and waiter.shows(_PAUSE):
        return f"pauses in {function}(), and tries again"
    if kind == QUEUE and waiter.for_completion:
        return f"waits until something is completed in {function}()"
    return f"{_SLEEPS_FOR[kind]} in {function}()"


def _perhaps(waiter: Stuck) -> str:
    """The same where the stack does not show how the task sleeps: all that the function
    may sleep for; empty for one that sleeps for more."""
    if (_sleep(waiter) or ("", ""))[0] != _ANY:
        return ""
    found = dict.fromkeys(lock.rpartition(":")[2] for lock, _ in _asked(waiter))
    return " or ".join(found) if len(found) <= _NAMED else ""


def takers(waiter: Stuck) -> list[str]:
    """Functions that may have what a task waits for, as they stand on a stack."""
    found: set[str] = set()
    for lock, how in _wanted(waiter):
        found |= {
            function
            for function in _holders()[lock]
            if any(
                row.lock == lock and row.how in _ALIKE.get(how, how) and row.calls
                for row in _sections()[function]
            )
        }
    return sorted(found)


def _holds(task: Stuck, lock: str, how: str) -> str:
    """The function on a stack that sleeps with a lock; empty without one."""
    frames = task.frames
    if how == WORK:
        return next((name for name in task.symbols if _runs(name, lock)), "")
    for inner, outer in pairwise(frames):
        for row in _sections().get(plain_name(outer.symbol), ()):
            shared = how == READ and row.how == READ
            if row.lock != lock or shared or row.how not in _ALIKE.get(how, how):
                continue
            if _is_called(task, inner.symbol, row.calls):
                return outer.symbol
    return ""


def _recurs(task: Stuck, lock: str, how: str) -> bool:
    """True where the function that waits for a lock is called by itself with it."""
    _, waits = _sleep(task) or ("", "")
    outer = [frame for frame in task.frames if plain_name(frame.symbol) == waits]
    again = len(outer) > 1 and how in MUTEX + WRITE + SEMAPHORE
    return again and _holds(task, lock, how) == waits


def _runs(function: str, work: str) -> bool:
    """True for the function of a work, or one that its queue runs."""
    rows = _sections().get(function, ())
    return any(row.how == WORK and row.lock == work and row.calls for row in rows)


def _held(waiter: Stuck, holder: Stuck) -> tuple[str, str, str] | None:
    """The function that sleeps with what the waiter waits for, how that waits, and for
    which lock; the first that fits."""
    for lock, how in _wanted(waiter):
        if function := _holds(holder, lock, how):
            return function, how, lock
    return None


def _is_called(task: Stuck, symbol: str, calls: frozenset[str]) -> bool:
    """True if a function on a stack is called by one that has the lock, or the one
    sleeps itself, in a way that it does with the lock."""
    symbol = plain_name(symbol)
    if symbol in calls:
        return True
    if is_sleep(symbol) or _KINDS[0][1].fullmatch(symbol):
        how, _ = _sleep(task) or ("", "")
        return any(f"<{kind}>" in calls for kind in how)
    parts = symbol.split("_")
    return any(f"*_{'_'.join(parts[at:])}" in calls for at in range(1, len(parts)))


def _is_own(waiter: Stuck, lock: str, how: str) -> bool:
    """True where a task runs the work, or has the lock, that it waits for."""
    if how == WORK:
        return bool(_holds(waiter, lock, how))
    return _recurs(waiter, lock, how)


class _ByCalls(Holder):
    """The rule of all rows of the list."""

    def asks(self, waiter: Stuck) -> bool:
        return bool(_wanted(waiter))

    def fitting(self, waiter: Stuck, around: Around) -> list[Stuck]:
        wanted = _wanted(waiter)
        functions = frozenset().union(*(_holders()[lock] for lock, _ in wanted))

        def fits(task: Stuck) -> bool:
            # One queue has sleepers of several kinds, a lock has one; a work may wait
            # for itself.
            waits = {lock for lock, how in _wanted(task) if how not in (QUEUE, WORK)}
            return not task.owner and any(
                (
                    (lock not in waits and task.caller != waiter.caller)
                    and _holds(task, lock, how)
                )
                or _recurs(task, lock, how)
                for lock, how in wanted
            )

        found = around.showing((id(self), wanted, waiter.caller), functions, fits)
        found = self._joined(waiter, found, around)
        own = any(_is_own(waiter, lock, how) for lock, how in wanted)
        return [waiter] if own and not found else found

    def made(self, waiter: Stuck, holder: Stuck) -> str:
        held = _held(waiter, holder)
        return f"{self.source}: {held[2] if held else self.lock}"

    def reason(self, waiter: Stuck, holder: Stuck) -> str:
        held = _held(waiter, holder)
        if held is None:
            return self.why
        function, how, lock = held
        name = lock.rpartition(":")[2]
        if how == WORK:
            return f"it runs the work that is waited for ({name})"
        if how == QUEUE:
            return f"{function}() wakes who waits for {name}"
        return f"it is in {function}(), which holds {name}"


class _Behind(Holder):
    """Readers that queue behind a writer which waits for the same lock."""

    def asks(self, waiter: Stuck) -> bool:
        return any(how == READ for _, how in _asked(waiter))

    def fitting(self, waiter: Stuck, around: Around) -> list[Stuck]:
        wanted = {lock for lock, how in _asked(waiter) if how == READ}

        def fits(task: Stuck) -> bool:
            return any((lock, WRITE) == one for one in _asked(task) for lock in wanted)

        key = (id(self), *sorted(wanted))
        return self._joined(waiter, around.holders(key, fits), around)


RULE = _ByCalls(
    "it is below a call that a function makes with the lock held",
    "kernel/locking/mutex.c mutex_lock(), rwsem.c down_write(), semaphore.c down(): "
    "held until it is released; docs/find-lock-sections.py lists what functions call "
    "meanwhile, and who runs a work or wakes a queue",
    names("*"),
    lock="a lock of sections.txt",
    confidence=POSSIBLE,
)
BEHIND = _Behind(
    "it waits for the lock to write, and readers queue behind it",
    "kernel/locking/rwsem.c rwsem_down_read_slowpath(), percpu-rwsem.c "
    "percpu_down_write(): a reader does not pass a writer that waits",
    names("*down_write*"),
    lock="a lock of sections.txt that a writer waits for",
    confidence=POSSIBLE,
)
HOLDERS: dict[str, tuple[Holder, ...]] = dict.fromkeys(WAIT_CLASSES, (RULE, BEHIND))
