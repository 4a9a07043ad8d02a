# SPDX-License-Identifier: GPL-2.0-only
"""text: render the answer to a pasted kernel log as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from writestall.log import kernel_reports
from writestall.log.headline import does, nearness, root, sentence
from writestall.log.kernel_reports import Report
from writestall.log.links import REPORTED, LogAnswer, Stuck
from writestall.log.next_steps import said
from writestall.log.stuck import Choice

# Of several that fit, so many are named.
_NAMED = 3
# So many tasks of one program in one wait have one row.
MANY_ALIKE = 10
_DIGITS = "0123456789:-/"


def report(
    answer: LogAnswer, where: str, reports: Sequence[Report] = ()
) -> Iterator[str]:
    """The sentence, what the log has besides, the next step, the chains from writer to
    root, and every stack's class."""
    yield sentence(answer, where)
    if reports:
        yield kernel_reports.said(reports)
    if answer.tasks:
        yield f"next: {said(answer, root(answer), reports)}"
    groups = _groups(answer)
    for path, members in groups:
        yield ""
        yield from _path(answer, path, len(members))
    yield ""
    yield from left_out(answer)
    if answer.tasks:
        yield "stacks:"
        yield from _rows(answer)
    if any(task.task.lockdep_off for task in answer.tasks):
        yield "lockdep is turned off: the kernel lists no locks."
    if any(link.confidence != REPORTED for link in answer.links.values()):
        yield "A log names no wakers: links are guesses, each with its confidence."


def left_out(answer: LogAnswer) -> Iterator[str]:
    """What the log has besides stuck tasks."""
    if answer.not_stuck:
        yield f"left out, not stuck (idle, or not in state D): {answer.not_stuck}"
    if answer.no_sleeps:
        kinds = ", ".join(f"{name} {count}" for name, count in answer.no_sleeps.items())
        yield f"left out, no sleeps (what a CPU ran, or who allocated): {kinds}"


def _groups(answer: LogAnswer) -> list[tuple[list[int], list[int]]]:
    """Paths that say the same, longest first; parts of other paths left out."""
    paths = [answer.path(at) for at in range(len(answer.tasks))]
    inner = {step for path in paths for step in path[1:]}
    groups: dict[tuple[object, ...], list[list[int]]] = {}
    for path in paths:
        if path[0] in inner:
            continue
        first = answer.tasks[path[0]]
        key = (first.verdict.cls, first.verdict.path, first.role, *path[1:])
        groups.setdefault(key, []).append(path)
    # A circle that no task outside it leads to: show it from its first member.
    shown = {step for group in groups.values() for step in group[0]}
    for at in range(len(paths)):
        if at not in shown and at == min(answer.circle(at), default=None):
            groups["circle", at] = [paths[at]]
    rows = [(group[0], [path[0] for path in group]) for group in groups.values()]

    def order(row: tuple[list[int], list[int]]) -> tuple[float, ...]:
        path = row[0]
        return -len(path), nearness(answer.tasks[path[-1]]), path[0]

    return sorted(rows, key=order)


def _path(answer: LogAnswer, path: list[int], members: int) -> Iterator[str]:
    first = answer.tasks[path[0]]
    more = f"  and {members - 1} more like it" if members > 1 else ""
    yield _described(answer, first) + more
    depth = 0
    for step, (before, at) in enumerate(pairwise(path), 1):
        task = answer.tasks[at]
        back = f"back to {answer.name(task)}: a circle"
        who = back if at in path[:step] else _described(answer, task)
        if link := answer.links.get(before):
            yield f"{'   ' * depth}+- {link.confidence}: {who}  ({link.why})"
        else:
            choice = answer.choices[before]
            yield f"{'   ' * depth}+- one of {_several(answer, choice)}  ({choice.why})"
            depth += 1
            yield f"{'   ' * depth}+- which all come down to {who}"
        depth += 1
    if either := answer.either(path[-1]):
        one, why = " or ".join(answer.named(either)), answer.choices[path[-1]].why
        yield f"{'   ' * depth}+- either: {one}  ({why})"


def _several(answer: LogAnswer, choice: Choice) -> str:
    """All that fit, the first ones by name."""
    count = len(choice.holders)
    names = ", ".join(map(answer.name, choice.holders[:_NAMED]))
    return f"{count}: {names}{', ...' if count > _NAMED else ''}"


def _described(answer: LogAnswer, stuck: Stuck) -> str:
    name = answer.name(stuck)
    if stuck.owner or not (stuck.task.frames or stuck.task.guesses):
        return f"{name} ({stuck.role})  {does(stuck)}"
    path = " > ".join(stuck.verdict.path[-2:])
    doubt = " (from doubtful frames)" if stuck.guessed else ""
    return f"{name} ({stuck.role})  {stuck.verdict.cls}{doubt}  {path}"


def _rows(answer: LogAnswer) -> Iterator[str]:
    """A row for each task; one for all where many of one program wait alike."""
    alike: dict[object, list[Stuck]] = {}
    for at, task in enumerate(answer.tasks):
        link = answer.links.get(at)
        comm = (task.task.comm or "").rstrip(_DIGITS)
        who = (task.task.host, task.task.cgroup, comm, task.role)
        where = (*who, task.owner, task.guessed)
        key = (where, task.verdict, link and id(link.holder))
        alike.setdefault(key, []).append(task)
    for tasks in alike.values():
        shown = tasks if len(tasks) < MANY_ALIKE else tasks[:1]
        for task in shown:
            times = f"  {task.times} times" if task.times > 1 else ""
            cgroup = f"  in cgroup {task.task.cgroup}" if task.task.cgroup else ""
            more = len(tasks) - len(shown)
            others = f"  and {more} more like it" if more else ""
            line = f"  line {task.task.line:>6}  {_described(answer, task)}"
            yield f"{line}{cgroup}{times}{_when(answer, task)}{others}"


def _when(answer: LogAnswer, stuck: Stuck) -> str:
    """When a task was seen, where the log shows several moments."""
    time = stuck.task.time
    return f"  at {time.text}" if time and answer.several_moments else ""


def log_json(answer: LogAnswer, reports: Sequence[Report] = ()) -> dict[str, Any]:
    """The same as a table of tasks; `waits_for` is an index into it, `either` has two
    of which one fits; `one_of` all that fit, where these come down to one root, and
    `comes_down_to` that root."""
    rows = []
    for at, stuck in enumerate(answer.tasks):
        link, end = answer.links.get(at), answer.whichever.get(at)
        several = answer.choices[at].holders if end is not None else ()
        rows.append(
            {
                "line": stuck.task.line,
                "host": stuck.task.host or None,
                "comm": stuck.task.comm,
                "cgroup": stuck.task.cgroup,
                "pid": stuck.task.pid,
                "class": stuck.verdict.cls,
                "role": stuck.role,
                "path": list(stuck.verdict.path),
                "rule": stuck.verdict.rule.why if stuck.verdict.rule else None,
                "doubtful": stuck.guessed,
                "times": stuck.times,
                "time": stuck.task.time.text if stuck.task.time else None,
                "state": stuck.task.state,
                "owner": stuck.owner,
                "waits_for": answer.after.get(at),
                "either": answer.either(at),
                "one_of": [answer.index[id(one)] for one in several],
                "comes_down_to": end,
                "confidence": link.confidence if link else None,
                "why": link.why if link else None,
            }
        )
    return {
        "format": 1,
        "next": said(answer, root(answer), reports) if rows else None,
        "tasks": rows,
        "not_stuck": answer.not_stuck,
        "no_sleep": dict(answer.no_sleeps),
    }
