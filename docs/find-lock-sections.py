#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""find-lock-sections: list what functions of a kernel tree call while they hold a lock.

usage: docs/find-lock-sections.py LINUX .. > FILE

Below each file a line for each of its functions and each lock that it takes, separated
by tabs: the function, how (`m` a mutex, `r` and `w` an rw-semaphore, `s` a semaphore,
`q` a queue of waiting tasks, `k` a work that is flushed), the lock, and what the
function calls between taking and letting go, as far as that may sleep. A thread or work
that wakes a queue has what it calls before; of a work its own function is named.
`*_name` is a call of a method, `<m>` a sleep of that kind in the function itself. A
function that only waits has `-`.

It reads C by its layout (c_layout.py): a branch that lets go and leaves ends no
section, one that lets go and goes on ends it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import c_layout
from c_layout import Function

_KINDS = "ext4 jbd2 btrfs f2fs fuse overlayfs nfs xfs quota iomap gfs2"
PLACES = (
    *(f"fs/{name}/{file}" for name in _KINDS.split() for file in ("*.c", "*.h")),
    *("fs/xfs/libxfs/*.[ch]", "fs/kernfs/*.[ch]", "fs/*.[ch]", "block/*.[ch]"),
    *("mm/*.[ch]", "drivers/md/*.[ch]", "drivers/md/bcache/*.[ch]"),
    *("drivers/scsi/scsi_[lse]*.c", "drivers/scsi/hosts.c", "drivers/scsi/sd.c"),
    *("drivers/nvme/host/*.[ch]", "drivers/block/loop.c", "kernel/cgroup/*.[ch]"),
    "include/linux/*.h",
)
_HOW = {"mutex": "m", "down": "s", "down_read": "r", "down_write": "w"}
_TOKEN = re.compile(
    r"(?P<before>->|\.)?\b(?:"
    r"(?P<lock>(?:f2fs_|percpu_)?(?:mutex|down_read|down_write|down)"
    r"(?:(?<=mutex)_(?:lock|trylock)|_trylock)?"
    r"(?:_nested|_io|_interruptible|_killable|_nest_lock)*)"
    r"|(?P<unlock>(?:f2fs_|percpu_)?(?:mutex_unlock|up_read|up_write|up)"
    r"(?:_non_owner)?)"
    r"|(?P<wait>(?:io_)?wait_event(?!_interruptible)\w*|wait_for_completion\w*)"
    r"|(?P<wake>wake_up(?!_process|_state|_q)\w*|complete(?:_all)?)"
    r"|(?P<flush>(?:flush|cancel)_(?:delayed_)?work(?:_sync)?)"
    r"|(?P<drain>(?:flush|drain|destroy)_workqueue)"
    r"|(?P<call>[a-zA-Z_]\w+))\s*\(\s*"
    r"|(?P<open>\{)|(?P<close>\})|\b(?P<leave>return|goto|break|continue)\b"
    r"|\b(?P<case>case|default)\b|^(?P<label>\w+):(?!:)",
    re.M,
)
_SLEEPS = re.compile(
    r"(?:io_)?schedule\w*|wait_on_bit\w*|wait_var_event\w*|closure_sync|msleep\w*"
    r"|synchronize_\w+"
)
_WORK = re.compile(
    r"\bINIT_(?:DELAYED_)?WORK(?:_ONSTACK)?\s*\(\s*&?(?P<work>[^,]+),\s*(?P<to>\w+)\s*\)"
    r"|\bDECLARE_(?:DELAYED_)?WORK\s*\(\s*(?P<work2>\w+),\s*(?P<to2>\w+)\s*\)"
)
_QUEUE = re.compile(
    r"\b(?:queue|mod)_(?:delayed_)?work(?:_on)?\s*\((?:\s*\w+,(?=[^,]+,[^,]+\)))?"
    r"\s*(?P<queue>[^,()]+),\s*&?(?P<work>[^,)]+)"
)
_THREAD = re.compile(
    r"\bkthread_(?:run|create)\w*\(\s*(\w+)|\bmd_register_thread\(\s*(\w+)"
)
_DEFINED = re.compile(r"\bDE(?:FINE|CLARE)_(?:MUTEX|RWSEM|\w*SEMAPHORE|WAIT\w*)\((\w+)")
_TEST = re.compile(r"[-_]test\.c$")
_FIELD = re.compile(
    r"struct (?:mutex|rw_semaphore|percpu_rw_semaphore|semaphore|completion"
    r"|work_struct|delayed_work)\s+(\w+)|wait_queue_head_t\s+(\w+)"
)
_KEYWORDS = frozenset(
    "if while for switch sizeof likely unlikely container_of typeof defined".split()
)
# Queues of all drivers.
_ANY_QUEUE = re.compile(r"(?:.*:)?(?:system|kblockd)_\w+")
# Names that say nothing without the structure they are in.
_PLAIN = frozenset(
    "lock mutex sem rwsem mtx wait waitq waitqueue wq wqh done completion comp work "
    "mux io_lock lock_mutex ws_wait io_wait wait_queue event workq".split()
)
_BASE = re.compile(
    r"mutex_lock\w*|down(?:_read|_write)?(?:_nested|_killable|_interruptible)?"
    r"|percpu_down_\w+|(?:io_)?schedule\w*|(?:io_)?wait_event\w*|wait_on_\w+"
    r"|wait_var_event\w*|wait_for_completion\w*|msleep\w*|closure_sync\w*|flush_work\w*"
    r"|flush_delayed_work|flush_workqueue|drain_workqueue|cancel_\w*work_sync"
    r"|synchronize_\w+|lock_page|folio_lock|folio_wait_\w+|lock_buffer|submit_bio\w*"
)
# Sleepers by name only, or for memory: no sign of who holds what.
_NOISE = re.compile(
    r"\w*free|\w*(?:alloc|put|get|lock|unlock|init|print\w*|release|err|warn|debug)"
    r"|(?:io_)?schedule\w*|closure_sync|msleep\w*|\*?\w*wait_event_\w+|\*_fn\d"
    r"|[A-Z_\d]+|cond_resched\w*|\w*memdup\w*|\w*strdup\w*|copy_\w+_user|put_\w+"
)
# What rules of their own tell better (analysis/writestall/log/holders).
_KNOWN = frozenset("i_rwsem mmap_lock b_sema s_writers rw_sem f_pos_lock".split())
# Fields of several meanings.
_SHORT = 400
_VAGUE = frozenset("set c word conf complete flags i_flags jd_flags".split())


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


def _argument(text: str, at: int) -> str:
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth < 0 or (text[end] == "," and not depth):
            return text[at:end]
    return text[at:]


def _folder(file: str) -> str:
    """The folder in which a lock of a file is known."""
    names = file.split("/")[:-1]
    return "/".join(names[: 2 if names[0] == "fs" else 4])


class Tree:
    """The functions of a tree, and who calls, locks and wakes what."""

    def __init__(self, tree: Path) -> None:
        every = list(c_layout.functions(tree, PLACES))
        self._declared = Counter[tuple[str, str]]()
        self._defined: set[tuple[str, str]] = set()
        for place in PLACES:
            for path in sorted(tree.glob(place)):
                file = str(path.relative_to(tree))
                text = path.read_text("utf-8", "replace")
                for one, two in _FIELD.findall(text):
                    self._declared[_folder(file), one or two] += 1
                self._defined.update((file, name) for name in _DEFINED.findall(text))
        self._by_name: dict[str, list[Function]] = defaultdict(list)
        for function in every:
            self._by_name[function.name].append(function)
        self._uses = self._used(tree)
        self.functions = [
            one
            for one in every
            if one.file.endswith(".c") and not _TEST.search(one.file)
        ]
        self._sleepers = self._all_sleepers(every)
        self.wrappers: dict[str, tuple[Section, ...]] = {}
        self.releasers: dict[str, set[str]] = {}
        self.users: dict[str, set[str]] = {}
        self._find_wrappers()

    def _used(self, tree: Path) -> Counter[tuple[str, str]]:
        """How often each file names each word."""
        count: Counter[tuple[str, str]] = Counter()
        for file in {one.file for found in self._by_name.values() for one in found}:
            if file.endswith(".c"):
                words = re.findall(r"\w+", (tree / file).read_text(errors="replace"))
                count.update((file, word) for word in words)
        return count

    def _all_sleepers(self, every: list[Function]) -> set[str]:
        """The functions that may sleep, by whom they call."""
        callers: dict[str, set[str]] = defaultdict(set)
        for function in every:
            for name in re.findall(r"\b(\w+)\s*\(", function.body):
                callers[name].add(function.name)
        found = {name for name in callers if _BASE.fullmatch(name)}
        new = list(found)
        while new:
            for name in callers[new.pop()] - found:
                found.add(name)
                new.append(name)
        # Who calls a method may sleep; who calls that, nobody knows.
        found |= {one.name for one in every if re.search(r"->\w+\s*\(", one.body)}
        return {name for name in found if not _NOISE.fullmatch(name)}

    def may_sleep(self, name: str) -> bool:
        """True for a function that may sleep, and for a method."""
        return name in self._sleepers or name.startswith("*")

    def _inlined(self, name: str, file: str) -> Function | None:
        """The function of that name where the compiler has it inside its caller."""
        for one in self._by_name.get(name, ()):
            header = one.file.endswith(".h")
            if one.is_static and (header or one.file == file):
                # Its definition and one call, or hardly longer than a call.
                once = self._uses[file, name] == 2 or len(one.body) < _SHORT
                return one if header or once else None
        return None

    def lock(self, text: str, file: str) -> str:
        """The name of a lock: that of its field, with the folder it is known in."""
        text = re.sub(r"\s+|^[&*(]+", "", text.strip()).lstrip("&*(")
        text = re.sub(r"\([^()]*\)|\[[^\]]*\]|[+-]\d+$", "", text).rstrip(")")
        parts = [part for part in re.split(r"->|\.", text) if part]
        if not parts or not re.fullmatch(r"\w+", parts[-1]):
            return ""
        if parts[-1] in _PLAIN:
            known = len(parts) > 1 or (file, parts[0]) in self._defined
            return f"{file}:{'->'.join(parts[-2:])}" if known else ""
        of = next(
            (
                folder
                for folder in (_folder(file), "include/linux")
                if self._declared[folder, parts[-1]]
            ),
            _folder(file),
        )
        # Of several structures: what holds the field tells which.
        one = self._declared[of, parts[-1]] <= 1
        name = parts[-1] if one else "->".join(parts[-2:])
        return name if of == "include/linux" else f"{of}:{name}"

    def events(self, function: Function, depth: int = 0) -> Iterator[Event]:
        """The tokens of a function, those of what is inlined into it among them."""
        body = function.body
        for match in _TOKEN.finditer(body):
            kind = match.lastgroup or ""
            if kind == "before":
                continue
            name = match[kind]
            if kind not in ("call", "open", "close", "leave", "label", "case"):
                of = self.lock(_argument(body, match.end()), function.file)
                yield Event(kind, name, of)
                continue
            if kind == "call" and match["before"]:
                yield Event("call", f"*_{name}")
                continue
            before = body[: match.start()].rstrip()[-4:]
            may = kind == "leave" and before.endswith((")", "else"))
            yield Event("may-leave" if may else kind, name)
            inner = kind == "call" and depth < 4
            if inner and (inside := self._inlined(name, function.file)):
                yield Event("open", "{")
                yield from self.events(inside, depth + 1)
                yield Event("close", "}")

    def _find_wrappers(self) -> None:
        """Functions that return with a lock held, and those that let go of one."""
        for function in self.functions:
            events = list(self.events(function))
            taken = {event.of for event in events if event.kind == "lock"}
            let_go = {event.of for event in events if event.kind == "unlock"}
            held = [
                part
                for part in sections(self, events)
                if part.is_open and part.lock not in let_go
            ]
            # One that takes several takes those that its arguments name.
            if len(held) == 1 and len(events) < 60:
                self.wrappers[function.name] = tuple(held)
            self.users[function.name] = taken | let_go
            if let_go - taken:
                self.releasers[function.name] = let_go - taken


def _how(name: str) -> str:
    name = name.removeprefix("f2fs_").removeprefix("percpu_")
    return next(
        how for key, how in sorted(_HOW.items(), reverse=True) if name.startswith(key)
    )


def _leaves(events: list[Event], at: int) -> bool:
    """True where the block that a token stands in leaves the way it came."""
    depth = 0
    for event in events[at + 1 :]:
        depth += (event.kind == "open") - (event.kind == "close")
        if depth < 0 or (event.kind == "lock" and event.of == events[at].of):
            return False
        if event.kind == "leave" and not depth:
            return True
    return False


class _Walk:
    """The locks held from token to token of a function."""

    def __init__(self, tree: Tree, events: list[Event]) -> None:
        self._tree, self._events = tree, events
        self._held: dict[str, tuple[int, str, list[str]]] = {}
        # Taken just now: what returns may be that this failed.
        self._fresh: set[str] = set()
        self._returned: set[str] = set()
        self._depth, self._is_dead = 0, False
        self.done: list[Section] = []

    def whole(self) -> list[Section]:
        """What is called between taking and letting go of each lock."""
        for at, event in enumerate(self._events):
            self._depth += (event.kind == "open") - (event.kind == "close")
            step = getattr(self, f"_{event.kind.replace('-', '_')}", None)
            if step:
                step(at, event)
        for lock in tuple(self._held):
            self._end(lock)
            self.done[-1] = self.done[-1]._replace(is_open=True)
        return self.done

    def _end(self, lock: str) -> None:
        _, how, calls = self._held.pop(lock)
        row = Section(lock, how, tuple(dict.fromkeys(calls)), lock in self._returned)
        self.done.append(row)

    def _calls(self, name: str, but: set[str]) -> None:
        for lock in self._held.keys() - but:
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
        # Who takes it, or lets go of it meanwhile, does not sleep with it.
        users = self._tree.users.get(name, set())
        if _SLEEPS.fullmatch(name):
            self._calls("<q>", users)
        elif self._tree.may_sleep(name):
            self._calls(name, users)


def sections(tree: Tree, events: list[Event]) -> list[Section]:
    """What a function calls between taking and letting go of each lock."""
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


def works(tree: Tree, path: Path) -> Iterator[tuple[str, str, str]]:
    """File, name and function of works; of a queue, those of its works."""
    runs: dict[str, set[str]] = defaultdict(set)
    files = {
        one.file: (path / one.file).read_text("utf-8", "replace")
        for one in tree.functions
    }
    for file, text in files.items():
        for match in _WORK.finditer(text):
            work, to = match["work"] or match["work2"], match["to"] or match["to2"]
            if name := tree.lock(work, file):
                runs[name].add(to)
                yield file, name, to
    for file, text in files.items():
        for match in _QUEUE.finditer(text):
            queue, work = (tree.lock(match[key], file) for key in ("queue", "work"))
            if queue and work and not _ANY_QUEUE.fullmatch(queue):
                yield from ((file, queue, to) for to in sorted(runs.get(work, ())))


def threads(path: Path, files: set[str]) -> set[str]:
    """The functions that kernel threads run."""
    text = "\n".join((path / file).read_text("utf-8", "replace") for file in files)
    return {one or two for one, two in _THREAD.findall(text)}


Found = dict[tuple[str, str, str, str], set[str]]


def add(found: Found, path: Path) -> None:
    """Add what a tree has: calls by file, function, how and lock."""
    tree = Tree(path)
    alone = threads(path, {one.file for one in tree.functions})
    for file, name, to in works(tree, path):
        alone.add(to)
        found[file, to, "k", name].add(to)
    for function in tree.functions:
        events = list(tree.events(function))
        for part in sections(tree, events):
            # Where it does not let go, nobody knows how far it holds it.
            calls = set() if part.is_open else set(part.calls)
            found[function.file, function.name, part.how, part.lock] |= calls
        for part in waits(tree, events):
            calls = set(part.calls) if function.name in alone else set()
            found[function.file, function.name, "q", part.lock] |= calls
        for kind, _, of in events:
            if kind in ("flush", "drain") and of and not _ANY_QUEUE.fullmatch(of):
                found.setdefault((function.file, function.name, "k", of), set())


def rows(trees: list[Path]) -> Iterator[tuple[str, ...]]:
    """The lines of the list: file, function, how, lock and calls."""
    found: Found = defaultdict(set)
    for path in trees:
        add(found, path)
    # Of use where one function holds or ends what another waits for.
    kinds = {how: how if how in "qk" else "" for how in "mrwsqk"}
    ends = {(key[3], kinds[key[2]]) for key, calls in found.items() if calls}
    for key, calls in sorted(found.items()):
        known = re.split(r":|->", key[3])[-1] in _KNOWN | _VAGUE
        if not known and (key[3], kinds[key[2]]) in ends:
            yield *key, " ".join(sorted(calls)) or "-"


def main() -> int:
    """Print the list of the tree that the command line names."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument(
        "linux", type=Path, nargs="+", metavar="LINUX", help="a kernel tree"
    )
    trees = parser.parse_args().linux
    for tree in trees:
        if not (tree / "fs").is_dir():
            parser.error(f"{tree}: no kernel tree")
    file = ""
    for at, *row in rows(trees):
        if at != file:
            print(file := at)
        print("", *row, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
