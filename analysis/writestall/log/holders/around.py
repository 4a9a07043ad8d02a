# SPDX-License-Identifier: GPL-2.0-only
"""around: keep the tasks of one shot by what the rules ask of a holder.

A log may hold thousands of tasks. Of those that look alike to a rule (file systems,
disks) a few are enough: the first is given, and more than one is several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property, lru_cache

from writestall.log.stuck import Stuck, module_of
from writestall.log.times import gap_s

# include/linux/syscalls.h, arch/*/include/asm/syscall_wrapper.h: names of one function.
_SYSTEM_CALL = re.compile(r"_*(?:[a-z]\w*?_)?(?:compat_)?sys_(?P<name>\w+)")

# The waiter itself may be among them, and two others are several.
_ENOUGH = 3
# So many are all, where all that fit are asked for.
_MANY = 24


@lru_cache(maxsize=65536)
def plain_name(symbol: str) -> str:
    """`sys_NAME` for all functions of a system call, else the name itself, without
    what include/linux/alloc_tag.h adds since 6.10."""
    call = _SYSTEM_CALL.fullmatch(symbol)
    return f"sys_{call['name']}" if call else symbol.removesuffix("_noprof")


class TooManyError(Exception):
    """More tasks fit a rule than are kept, where all of them are asked for."""


class Around:
    """The tasks of one shot; `enough`: so many of each look are kept for a rule."""

    def __init__(self, shot: int, enough: int = _ENOUGH) -> None:
        self._shot = shot
        self._enough = enough
        self.tasks: list[Stuck] = []
        self._kept: dict[Hashable, tuple[list[Stuck], bool]] = {}

    @cached_property
    def whole(self) -> Around:
        """The same tasks, of which all that fit a rule are found; each search of it
        raises TooManyError where they are more than are kept."""
        other = _Whole(self._shot, _MANY)
        other.tasks = self.tasks
        return other

    def _few(self, key: Hashable, tasks: Iterable[Stuck]) -> list[Stuck]:
        """What is kept of the tasks for a key, found once."""
        if key not in self._kept:
            self._kept[key] = self._cut(tasks)
        return self._kept[key][0]

    def _cut(self, tasks: Iterable[Stuck]) -> tuple[list[Stuck], bool]:
        """The few of each look with the lowest pids, in whatever order they are
        reported, and whether there are more; a task in several waits counts once, as
        last seen."""
        once = {task.task.pid or id(task): task for task in tasks}
        looks: dict[Hashable, list[Stuck]] = {}
        for task in sorted(once.values(), key=Stuck.order):
            looks.setdefault((task.file_systems, task.disks), []).append(task)
        few = [task for alike in looks.values() for task in alike[: self._enough]]
        return few, len(few) < len(once)

    @cached_property
    def pids(self) -> frozenset[int | None]:
        """The pids of all that have one."""
        return frozenset(task.task.pid for task in self.tasks if task.task.pid)

    def gap_s(self, waiter: Stuck, task: Stuck) -> float:
        """Seconds from the report of one to that of the other in this shot."""
        one, other = waiter.seen[self._shot], task.seen[self._shot]
        return gap_s(one.time, other.time) or 0

    def at_once(self, waiter: Stuck, task: Stuck) -> bool:
        """True unless their reports are so far apart that one was over.

        Where the kernel had stopped reporting hung tasks in between, nobody knows.
        """
        one, other = waiter.seen[self._shot], task.seen[self._shot]
        gap = self.gap_s(waiter, task)
        near = one.was_stuck(gap) or other.was_stuck(-gap)
        return near or one.suppressions != other.suppressions

    def holders(self, key: Hashable, fits: Callable[[Stuck], bool]) -> list[Stuck]:
        """Those that a rule, `key`, takes for holders."""
        return self._few(key, filter(fits, self.tasks))

    def waiters(self, rule: object, asks: Callable[[Stuck], bool]) -> list[Stuck]:
        """Those that wait for what a rule is about."""
        return self._few(("waits", id(rule)), filter(asks, self.tasks))

    def named(
        self, rule: object, fits: Callable[[Stuck], bool], comm: str | None
    ) -> list[Stuck]:
        """The same, of one name only."""
        if comm is None:
            return []
        return self._few((id(rule), comm), filter(fits, self._by_name.get(comm, [])))

    def inside(
        self, rule: object, fits: Callable[[Stuck], bool], function: str
    ) -> list[Stuck]:
        """Those that a function has called further than it takes a lock."""
        further = (
            task
            for task in self._by_symbol.get(function, [])
            if task.caller != function and fits(task)
            if task.thread != function or not self._is_one_of_several(task)
        )
        return self._few((id(rule), "", function), further)

    def showing(
        self, key: Hashable, functions: Iterable[str], fits: Callable[[Stuck], bool]
    ) -> list[Stuck]:
        """Those that show one of the functions, and fit."""
        return self._few(key, filter(fits, self._shown(functions)))

    def _shown(self, functions: Iterable[str]) -> Iterator[Stuck]:
        seen = set[int]()
        for function in functions:
            for task in self._by_symbol.get(function, []):
                if id(task) not in seen:
                    seen.add(id(task))
                    yield task

    def within(
        self, rule: object, fits: Callable[[Stuck], bool], waiter: Stuck
    ) -> list[Stuck]:
        """Those inside a waiter's module that wait for no lock that a module takes:
        neither its own, nor another's, which it may take after its own is released."""
        module, caller = waiter.module, waiter.caller
        inside = (
            task
            for task in self.tasks
            if any(module_of(frame) == module for frame in task.frames)
            if not task.module and task.caller != caller and fits(task)
            if not self._is_one_of_several(task)
        )
        return self._few((id(rule), module, caller), inside) if module else []

    def _is_one_of_several(self, task: Stuck) -> bool:
        """True for a thread of which a driver has one a device, where several are
        stuck: whose lock is whose nobody knows."""
        return task.thread in self._several

    @cached_property
    def _several(self) -> frozenset[str]:
        """The functions of kernel threads that several tasks run."""
        pids: dict[str, set[object]] = {}
        for task in self.tasks:
            pids.setdefault(task.thread, set()).add(task.task.pid or id(task))
        return frozenset(name for name, of in pids.items() if name and len(of) > 1)

    @cached_property
    def _by_name(self) -> dict[str | None, list[Stuck]]:
        found: dict[str | None, list[Stuck]] = {}
        for task in self.tasks:
            found.setdefault(task.task.comm, []).append(task)
        return found

    @cached_property
    def _by_symbol(self) -> dict[str, list[Stuck]]:
        found: dict[str, list[Stuck]] = {}
        for task in self.tasks:
            for symbol in {*task.symbols, *map(plain_name, task.symbols)}:
                found.setdefault(symbol, []).append(task)
        return found


class _Whole(Around):
    """The tasks of one shot, where all that fit are asked for."""

    def _few(self, key: Hashable, tasks: Iterable[Stuck]) -> list[Stuck]:
        few = super()._few(key, tasks)
        if self._kept[key][1]:
            raise TooManyError
        return few
