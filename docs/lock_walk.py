# SPDX-License-Identifier: GPL-2.0-only
"""lock_walk: find from a function's tokens what it calls while it holds a lock.

A branch that releases it and returns ends no section, one that releases it and goes
on ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lock_tree import Tree

_HOW = {"mutex": "m", "down": "s", "down_read": "r", "down_write": "w"}
_SLEEPS = re.compile(
    r"(?:io_)?schedule\w*|wait_on_bit\w*|wait_var_event\w*|closure_sync|msleep\w*"
    r"|synchronize_\w+"
)
_KEYWORDS = frozenset(
    "if while for switch sizeof likely unlikely container_of typeof defined".split()
)


class Event(NamedTuple):
    """A token of a function, with its argument where it has one."""

    kind: str
    name: str
    of: str = ""


class Section(NamedTuple):
    """What a function does with one lock."""

    lock: str
    how: str
    calls: tuple[str, ...]
    is_open: bool = False


def _how(name: str) -> str:
    name = name.removeprefix("f2fs_").removeprefix("percpu_")
    return next(
        how for key, how in sorted(_HOW.items(), reverse=True) if name.startswith(key)
    )


def _leaves(events: list[Event], at: int) -> bool:
    """True where the block that a token stands in leaves the way it came."""
    depth = 0
    for step, event in enumerate(events[at + 1 :], 1):
        depth += (event.kind == "open") - (event.kind == "close")
        if depth < 0:
            return _breaks(events[at + step + 1 :])
        if event.kind == "lock" and event.of == events[at].of:
            return False
        if event.kind == "leave" and not depth:
            return True
    return False


def _breaks(after: list[Event]) -> bool:
    """True where what follows a block is `else break`: the loop ends with the lock."""
    first = next((event for event in after[:2] if event.kind != "open"), None)
    return first is not None and first.name == "break"


class _Walk:
    """The locks held from token to token of a function."""

    def __init__(self, tree: Tree, events: list[Event]) -> None:
        self._tree, self._events = tree, events
        self._held: dict[str, tuple[int, str, list[str]]] = {}
        # Taken just now: what returns may be that this failed.
        self._fresh: set[str] = set()
        self._returned: set[str] = set()
        # Released in a branch that leaves, and how deep that is.
        self._paused: dict[str, int] = {}
        self._depth, self._is_dead = 0, False
        self.done: list[Section] = []

    def whole(self) -> list[Section]:
        """What is called between taking and releasing each lock."""
        for at, event in enumerate(self._events):
            self._depth += (event.kind == "open") - (event.kind == "close")
            if event.kind == "close":
                self._leave_block()
            step = getattr(self, f"_{event.kind.replace('-', '_')}", None)
            if step:
                step(at, event)
        for lock in tuple(self._held):
            self._end(lock)
            self.done[-1] = self.done[-1]._replace(is_open=True)
        return self.done

    def _leave_block(self) -> None:
        """A lock that outlives the block that took it is held by the block around."""
        self._paused = {
            lock: depth for lock, depth in self._paused.items() if depth <= self._depth
        }
        for lock, (depth, how, calls) in self._held.items():
            self._held[lock] = min(depth, self._depth), how, calls

    def _end(self, lock: str) -> None:
        _, how, calls = self._held.pop(lock)
        self._paused.pop(lock, None)
        row = Section(lock, how, tuple(dict.fromkeys(calls)), lock in self._returned)
        self.done.append(row)

    def _calls(self, name: str, but: set[str]) -> None:
        for lock in self._held.keys() - but - self._paused.keys():
            self._held[lock][2].append(name)

    def _may_leave(self, _: int, event: Event) -> None:
        if event.name == "return" and not self._depth:
            self._returned |= self._held.keys() - self._fresh

    def _leave(self, _: int, event: Event) -> None:
        self._is_dead |= event.name == "return" and not self._depth

    def _label(self, _: int, __: Event) -> None:
        if self._is_dead:
            for lock in tuple(self._held):
                self._end(lock)
        self._is_dead = False

    def _case(self, _: int, __: Event) -> None:
        for lock in [lock for lock in self._held if self._held[lock][0] >= self._depth]:
            self._end(lock)

    def _lock(self, _: int, event: Event) -> None:
        how = _how(event.name)
        self._calls(f"<{how}>", {event.of})
        if event.of:
            self._held.setdefault(event.of, (self._depth, how, []))
            self._fresh.add(event.of)

    def _unlock(self, at: int, event: Event) -> None:
        lock = event.of
        if lock in self._held and (
            self._depth <= self._held[lock][0] or not _leaves(self._events, at)
        ):
            self._end(lock)
        elif lock in self._held:
            self._paused.setdefault(lock, self._depth)

    def _wait(self, _: int, __: Event) -> None:
        self._calls("<q>", set())

    def _flush(self, _: int, __: Event) -> None:
        self._calls("<k>", set())

    _drain = _flush

    def _call(self, at: int, event: Event) -> None:
        name = event.name
        if name in _KEYWORDS or name.isupper():
            return
        self._fresh.clear()
        for lock in self._tree.releasers.get(name, set()) & self._held.keys():
            self._unlock(at, event._replace(of=lock))
        for part in self._tree.wrappers.get(name, ()):
            self._held.setdefault(part.lock, (self._depth, part.how, []))
            self._fresh.add(part.lock)
            self.done.append(Section(part.lock, part.how, ()))
        # Who takes it, or releases it meanwhile, does not sleep with it.
        users = self._tree.users.get(name, set())
        if _SLEEPS.fullmatch(name):
            self._calls("<q>", users)
        elif self._tree.may_sleep(name):
            self._calls(name, users)


def sections(tree: Tree, events: list[Event]) -> list[Section]:
    """What a function calls between taking and releasing each lock."""
    return _Walk(tree, events).whole()


def waits(tree: Tree, events: list[Event]) -> Iterator[Section]:
    """Waits for a queue or a completion, and who ends them."""
    before: list[str] = []
    for kind, name, of in events:
        if kind == "call" and tree.may_sleep(name):
            before.append(name)
        elif kind == "wait" and of:
            yield Section(of, "q", ())
        elif kind == "wake" and of:
            yield Section(of, "q", tuple(dict.fromkeys(before)))
