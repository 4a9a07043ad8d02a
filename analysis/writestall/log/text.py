# SPDX-License-Identifier: GPL-2.0-only
"""text: print the answer to a pasted kernel log as text, or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from writestall.classify import classes as c
from writestall.common.units import many
from writestall.log.links import LogAnswer, Stuck

_DOES = {
    c.PAGE_LOCK: "waits for a page lock",
    c.PAGE_WRITEBACK: "waits for pages under writeback",
    c.JOURNAL_BUFFER: "waits for a buffer of the journal",
    c.JOURNAL_TRANSACTION: "waits for a transaction of the journal",
    c.JOURNAL_COMMIT_WAIT: "waits for a commit",
    c.JOURNAL_SPACE: "waits for room in the journal",
    c.DIRTY_THROTTLE: "is throttled for dirtying pages",
    c.INODE_LOCK: "waits for an inode's lock",
    c.FS_LOCK: "waits for a lock of the file system",
    c.LOG_SPACE: "waits for the log",
    c.FS_TRANSACTION: "waits for a transaction of the file system",
    c.BLOCK_QUEUE: "waits for room in the disk's queue",
    c.DEVICE_IO: "waits for the disk",
    c.RAID_OR_DM: "waits inside a stacked device",
    c.MEMORY: "waits for memory",
    c.OTHER: "waits for something that no rule knows",
}


def _does(stuck: Stuck) -> str:
    """Describe what a task does."""
    if (stuck.role, stuck.verdict.cls) == (c.JOURNAL, c.JOURNAL_TRANSACTION):
        return "waits until every handle of its transaction has stopped"
    return _DOES[stuck.verdict.cls]


def report(answer: LogAnswer, where: str) -> Iterator[str]:
    """Yield the summary, the paths from writer to root, and every stack's class."""
    yield sentence(answer, where)
    groups = _groups(answer)
    for path, members in groups:
        yield ""
        yield from _path(answer, path, len(members))
    yield ""
    if answer.not_stuck:
        yield f"left out, not stuck (idle, or not in state D): {answer.not_stuck}"
    yield "stacks:"
    for task in answer.tasks:
        yield _row(task)
    if answer.links:
        yield "A log does not name wakers: each link is a guess, with its confidence."


def sentence(answer: LogAnswer, where: str) -> str:
    """Summarize the answer in one sentence."""
    count = len(answer.tasks)
    tasks = many(count, "stuck task")
    ends = Counter(answer.path(at)[-1] for at in range(count))
    end, followers = ends.most_common(1)[0]
    root = answer.tasks[end]
    who = f"{root.name} ({root.role})"
    if answer.cycles(end):
        return f"{tasks} in {where}: {followers} of them in a cycle through {who}?"
    does = _does(root)
    if followers == 1:
        return f"{tasks} in {where}: {who} {does}."
    return f"{tasks} in {where}: {followers} of them lead to {who}, which {does}."


def _groups(answer: LogAnswer) -> list[tuple[list[int], list[int]]]:
    """Group equal paths, the largest first; omit paths that are part of another."""
    paths = [answer.path(at) for at in range(len(answer.tasks))]
    inner = {step for path in paths for step in path[1:]}
    groups: dict[tuple[object, ...], list[list[int]]] = {}
    for path in paths:
        if path[0] in inner:
            continue
        first = answer.tasks[path[0]]
        key = (first.verdict.cls, first.verdict.path, first.role, *path[1:])
        groups.setdefault(key, []).append(path)
    # If all tasks are in a cycle: show it from its first member.
    if not groups and paths:
        groups[("cycle",)] = [paths[0]]
    rows = [(group[0], [path[0] for path in group]) for group in groups.values()]
    return sorted(rows, key=lambda row: (-len(row[0]), row[0][0]))


def _path(answer: LogAnswer, path: list[int], members: int) -> Iterator[str]:
    first = answer.tasks[path[0]]
    more = f"  and {members - 1} more like it" if members > 1 else ""
    yield _told(first) + more
    for depth, (before, at) in enumerate(pairwise(path)):
        link = answer.links[before]
        again = at in path[: depth + 1]
        task = answer.tasks[at]
        who = f"back to {task.name}: a cycle" if again else _told(task)
        yield f"{'   ' * depth}+- {link.confidence}: {who}  ({link.why})"


def _told(stuck: Stuck) -> str:
    path = " > ".join(stuck.verdict.path[-2:])
    note = " (from unreliable frames)" if stuck.guessed else ""
    return f"{stuck.name} ({stuck.role})  {stuck.verdict.cls}{note}  {path}"


def _row(stuck: Stuck) -> str:
    times = f"  {stuck.times} times" if stuck.times > 1 else ""
    return f"  line {stuck.task.line:>6}  {_told(stuck)}{times}"


def log_json(answer: LogAnswer) -> dict[str, Any]:
    """The answer as JSON: a table of tasks; `waits_for` is an index into it."""
    index = {id(task): at for at, task in enumerate(answer.tasks)}
    rows = []
    for at, stuck in enumerate(answer.tasks):
        link = answer.links.get(at)
        rows.append(
            {
                "line": stuck.task.line,
                "comm": stuck.task.comm,
                "pid": stuck.task.pid,
                "class": stuck.verdict.cls,
                "role": stuck.role,
                "path": list(stuck.verdict.path),
                "rule": stuck.verdict.rule.why if stuck.verdict.rule else None,
                "doubtful": stuck.guessed,
                "times": stuck.times,
                "waits_for": index[id(link.holder)] if link else None,
                "confidence": link.confidence if link else None,
                "why": link.why if link else None,
            }
        )
    return {"format": 1, "tasks": rows, "not_stuck": answer.not_stuck}
