#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""find-lock-sections: list what functions of a kernel tree call while they hold a lock.

usage: docs/find-lock-sections.py LINUX .. > FILE

Below each file a line for each of its functions and each lock that it takes, separated
by tabs: the function, how (`m` a mutex, `r` and `w` an rw-semaphore, `s` a semaphore,
`q` a queue of waiting tasks, `k` a work that is flushed), the lock, and what the
function calls between taking and releasing it, as far as that may sleep. A thread or
work that wakes a queue, or the only function that does, has what it calls before; of a
work its own function is named. `*_name` is a call of a method, `<m>` a sleep of that
kind in the function itself. A function that only waits has `-`. One that asserts a lock
(lockdep_assert_held(), mutex_is_locked()) is called with it, and has what it calls
until it releases the lock, if it does.

It reads C by its layout (c_layout.py, lock_tree.py, lock_walk.py).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

from lock_tree import Tree
from lock_walk import Event, sections, waits

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
    r"|\bbtrfs_init_work\([^,]+,\s*(\w+)"
)
# include/linux/lockdep.h; the lock of a mutex that is to be locked by who calls.
_ASSERT = re.compile(
    r"\blockdep_assert_held(?P<how>_write|_read)?\(\s*(?P<lock>[^;]+?)\)\s*;"
    r"|(?:BUG_ON|WARN_ON(?:_ONCE)?)\(\s*!\s*(?:mutex|rwsem)_is_locked\("
    r"(?P<lock2>[^;]+?)\)\s*\)\s*;"
    r"|\bASSERT\(\s*(?:mutex|rwsem)_is_locked\((?P<lock3>[^;]+?)\)\s*\)\s*;"
)
_TAKES = {"m": "mutex_lock", "r": "down_read", "w": "down_write", "s": "down"}
# Queues of all drivers.
_ANY_QUEUE = re.compile(r"(?:.*:)?(?:system|kblockd)_\w+")
# What rules of their own describe better (analysis/writestall/log/holders).
_KNOWN = frozenset("i_rwsem mmap_lock b_sema s_writers rw_sem f_pos_lock".split())
_VAGUE = frozenset("set c word conf complete flags i_flags jd_flags".split())


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
    """The functions that kernel threads and the workers of btrfs run."""
    text = "\n".join((path / file).read_text("utf-8", "replace") for file in files)
    return {name for names in _THREAD.findall(text) for name in names if name}


Found = dict[tuple[str, str, str, str], set[str]]


def found_in(path: Path) -> Found:
    """What a tree has: calls by file, function, how and lock."""
    found: Found = defaultdict(set)
    tree = Tree(path)
    alone = threads(path, {one.file for one in tree.functions})
    for file, name, to in works(tree, path):
        alone.add(to)
        found[file, to, "k", name].add(to)
    for function in tree.functions:
        events = list(tree.events(function))
        for part in sections(tree, events):
            # Where it does not release it, nobody knows how far it holds it.
            calls = set() if part.is_open else set(part.calls)
            found[function.file, function.name, part.how, part.lock] |= calls
        for part in waits(tree, events):
            found[function.file, function.name, "q", part.lock] |= set(part.calls)
        for kind, _, of in events:
            if kind in ("flush", "drain") and of and not _ANY_QUEUE.fullmatch(of):
                found.setdefault((function.file, function.name, "k", of), set())
    for key, calls in list(_asserted(tree, found)):
        found[key] |= calls
    _drop_common(found, alone)
    return found


def _asserted(
    tree: Tree, found: Found
) -> Iterator[tuple[tuple[str, str, str, str], set[str]]]:
    """What functions call that are called with a lock held, as they assert."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for _, _, how, lock in found:
        kinds[lock].add(how)
    for function in tree.functions:
        for match in _ASSERT.finditer(function.body):
            text = match["lock"] or match["lock2"] or match["lock3"]
            lock = tree.lock(text, function.file)
            # An rw-semaphore that is asserted is held by a reader at least.
            sure = "w" if match["how"] == "_write" else "r"
            how = next((kind for kind in (sure, "m", "s") if kind in kinds[lock]), "")
            if how:
                first = Event("lock", _TAKES[how], lock)
                events = [first, *tree.events(function)]
                parts = (part for part in sections(tree, events) if part.lock == lock)
                if part := next(parts, None):
                    yield (function.file, function.name, how, lock), set(part.calls)


def _drop_common(found: Found, alone: set[str]) -> None:
    """Drop who wakes a queue that several do: each may do so for another reason."""
    wakers: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for key, calls in found.items():
        if key[2] == "q" and calls and key[1] not in alone:
            wakers[key[3]].append(key)
    for keys in wakers.values():
        if len(keys) > 1:
            for key in keys:
                found[key] = set()


def rows(trees: list[Path]) -> Iterator[tuple[str, ...]]:
    """The lines of the list: file, function, how, lock and calls."""
    found: Found = defaultdict(set)
    with Pool() as pool:
        every = list(pool.imap(found_in, trees))
    for one in every:
        for key, calls in one.items():
            # Of a queue that several wake in another release nobody knows who does.
            alone = all(other.get(key, calls) for other in every)
            found[key] |= calls if alone or key[2] != "q" else set()
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
