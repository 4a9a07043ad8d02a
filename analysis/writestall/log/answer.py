# SPDX-License-Identifier: GPL-2.0-only
"""answer: hold what was found in a log: the stuck tasks and who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from writestall.log.stuck import Choice, Link, Stuck

# Behind so many choices, one behind the other, a root is looked for.
_NESTED = 8


def _followed(at: int, step: Callable[[int], int | None]) -> list[int]:
    """An index and those that a step leads to; one that comes again ends them."""
    path, seen = [at], {at}
    while (after := step(path[-1])) is not None:
        path.append(after)
        if after in seen:
            break
        seen.add(after)
    return path


def _comes_back(path: list[int]) -> bool:
    return path[-1] in path[:-1]


@dataclass(frozen=True)
class LogAnswer:
    """All stuck tasks of a log and the links between them, at most one for each; for
    some that have none, those of which one fits.

    `not_stuck` counts the tasks left out for their state, `no_sleeps` the traces that
    are no sleeps, by what they are called.
    """

    tasks: tuple[Stuck, ...]
    links: dict[int, Link]
    not_stuck: int = 0
    no_sleeps: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[int, Choice] = field(default_factory=dict)

    @cached_property
    def several_hosts(self) -> bool:
        """True when names have to say on which host a task is."""
        return len({task.task.host for task in self.tasks}) > 1

    @cached_property
    def moments(self) -> int:
        """How many moments the log shows: a task in several shots joins these."""
        first: dict[int, int] = {}

        def begin(shot: int) -> int:
            while first.setdefault(shot, shot) != shot:
                shot = first[shot]
            return shot

        for row in self.tasks:
            for shot in row.seen:
                first[begin(shot)] = begin(min(row.seen))
        return sum(begin(shot) == shot for shot in first)

    @property
    def several_moments(self) -> bool:
        """True when a host has several: rows have to say when a task was seen."""
        return self.moments > len({task.task.host for task in self.tasks})

    def name(self, task: Stuck) -> str:
        """A task's name, for the answer."""
        host = task.task.host if self.several_hosts else ""
        return f"{task.name} on {host}" if host else task.name

    @cached_property
    def index(self) -> dict[int, int]:
        """The index of each task, by its id()."""
        return {id(task): at for at, task in enumerate(self.tasks)}

    @cached_property
    def after(self) -> dict[int, int]:
        """For the index of each task that waits for one, the index of that one."""
        return {at: self.index[id(link.holder)] for at, link in self.links.items()}

    def named(self, ats: Iterable[int]) -> list[str]:
        """The names of the tasks of these indexes."""
        return [self.name(self.tasks[at]) for at in ats]

    def either(self, at: int) -> list[int]:
        """The two of which one has what a task waits for; empty where others fit."""
        choice = self.choices.get(at)
        two = choice.holders[:2] if choice and choice.best == 2 else ()
        return [self.index[id(task)] for task in two]

    @cached_property
    def whichever(self) -> dict[int, int]:
        """For the index of a task that waits for one of several, the index of the root
        that all of these come down to, where that is one."""
        found: dict[int, int] = {}

        def step(at: int) -> int | None:
            return self.after.get(at, found.get(at))

        for _ in range(_NESTED):
            open_ones = [at for at in self.choices if at not in found]
            for at in open_ones:
                holders = self.choices[at].holders
                paths = [_followed(self.index[id(task)], step) for task in holders]
                ends = {path[-1] for path in paths}
                is_one = len(ends) == 1 and not any(map(_comes_back, paths))
                if is_one and at not in ends:
                    found[at] = ends.pop()
            if not found.keys() & set(open_ones):
                break
        return found

    @cached_property
    def knot(self) -> list[int]:
        """The tasks that wait for each other whichever of its choices each waits for;
        empty without such."""
        ends = {at: {holder} for at, holder in self.after.items()}
        ends |= {at: set(two) for at in self.choices if (two := self.either(at))}
        while out := [at for at in ends if not ends[at] <= ends.keys()]:
            for at in out:
                del ends[at]
        todo = [at for at in self.choices if at in ends and self.either(at)]
        held = set[int]()
        while todo:
            new = ends[todo.pop()] - held
            held |= new
            todo += new
        return sorted(held)

    def step(self, at: int) -> int | None:
        """The index of who a task waits for, or of what all who that may be come down
        to; None without either."""
        return self.after.get(at, self.whichever.get(at))

    def path(self, at: int) -> list[int]:
        """Indexes from a task to the root of its waiting; a circle ends it."""
        return _followed(at, self.step)

    def circle(self, at: int) -> list[int]:
        """The tasks of the circle that a task's chain ends in; empty without one."""
        path = self.path(at)
        return path[path.index(path[-1]) : -1] if _comes_back(path) else []

    def ring(self, at: int) -> list[int]:
        """The tasks that wait for each other, if a task's chain ends among them."""
        return self.circle(at) or (self.knot if at in self.knot else [])

    def is_deadlock(self, ring: list[int]) -> bool:
        """True where the kernel says that each of them waits for the next."""
        return all(at in self.links and self.links[at].is_sure for at in ring)
