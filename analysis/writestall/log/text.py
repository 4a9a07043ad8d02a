# SPDX-License-Identifier: GPL-2.0-only
"""text: turns the answer to a pasted kernel log into lines, and into JSON."""

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
    c.OTHER: "waits for something no rule knows",
}


def _does(stuck: Stuck) -> str:
    """What a task does, for the sentence."""
    if (stuck.role, stuck.verdict.cls) == (c.JOURNAL, c.JOURNAL_TRANSACTION):
        return "waits until every handle of its transaction has stopped"
    return _DOES[stuck.verdict.cls]


def report(answer: LogAnswer, where: str) -> Iterator[str]:
    """The sentence, the ways from writer to root, and every stack's class."""
    yield sentence(answer, where)
    groups = _groups(answer)
    for way, members in groups:
        yield ""
        yield from _way(answer, way, len(members))
    yield ""
    if answer.at_ease:
        yield f"left out, not stuck (idle, or not in state D): {answer.at_ease}"
    yield "stacks:"
    for task in answer.tasks:
        yield _row(task)
    if answer.links:
        yield "A log names no wakers: ways are guesses, each with its confidence."


def sentence(answer: LogAnswer, where: str) -> str:
    """The answer in one sentence."""
    count = len(answer.tasks)
    tasks = many(count, "stuck task")
    ends = Counter(answer.way(at)[-1] for at in range(count))
    end, followers = ends.most_common(1)[0]
    root = answer.tasks[end]
    who = f"{root.name} ({root.role})"
    if answer.circles(end):
        return f"{tasks} in {where}: {followers} of them in a circle through {who}?"
    does = _does(root)
    if followers == 1:
        return f"{tasks} in {where}: {who} {does}."
    return f"{tasks} in {where}: {followers} of them come down to {who}, which {does}."


def _groups(answer: LogAnswer) -> list[tuple[list[int], list[int]]]:
    """Ways that say the same, longest first; ways that are part of another left out."""
    ways = [answer.way(at) for at in range(len(answer.tasks))]
    inner = {step for way in ways for step in way[1:]}
    groups: dict[tuple[object, ...], list[list[int]]] = {}
    for way in ways:
        if way[0] in inner:
            continue
        first = answer.tasks[way[0]]
        key = (first.verdict.cls, first.verdict.path, first.role, *way[1:])
        groups.setdefault(key, []).append(way)
    # A circle has no task outside it: show it from its first member.
    if not groups and ways:
        groups[("circle",)] = [ways[0]]
    rows = [(group[0], [way[0] for way in group]) for group in groups.values()]
    return sorted(rows, key=lambda row: (-len(row[0]), row[0][0]))


def _way(answer: LogAnswer, way: list[int], members: int) -> Iterator[str]:
    first = answer.tasks[way[0]]
    more = f"  and {members - 1} more like it" if members > 1 else ""
    yield _told(first) + more
    for depth, (before, at) in enumerate(pairwise(way)):
        link = answer.links[before]
        again = at in way[: depth + 1]
        task = answer.tasks[at]
        who = f"back to {task.name}: a circle" if again else _told(task)
        yield f"{'   ' * depth}+- {link.confidence}: {who}  ({link.why})"


def _told(stuck: Stuck) -> str:
    path = " > ".join(stuck.verdict.path[-2:])
    doubt = " (from doubtful frames)" if stuck.guessed else ""
    return f"{stuck.name} ({stuck.role})  {stuck.verdict.cls}{doubt}  {path}"


def _row(stuck: Stuck) -> str:
    times = f"  {stuck.times} times" if stuck.times > 1 else ""
    return f"  line {stuck.task.line:>6}  {_told(stuck)}{times}"


def log_json(answer: LogAnswer) -> dict[str, Any]:
    """The same as a table of tasks; `waits_for` is an index into it."""
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
    return {"format": 1, "tasks": rows, "not_stuck": answer.at_ease}
