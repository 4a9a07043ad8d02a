# SPDX-License-Identifier: GPL-2.0-only
"""headline: say in one sentence what the stuck tasks of a log wait for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from writestall.classify.named_waits import BLOCK_LOCK, NFS_ANSWER
from writestall.log import asked
from writestall.log.asleep import preempted_in, runs_in
from writestall.log.disks import differ
from writestall.log.holders.sections import WORK, sleep_kind, sleep_words
from writestall.log.links import POSSIBLE, LogAnswer, Stuck
from writestall_base import wait_classes as c
from writestall_base.units import many

# mm/vmscan.c, mm/compaction.c, mm/khugepaged.c: threads that make memory free.
_MAKES_MEMORY = (
    (re.compile(r"kswapd\d*"), "reclaims memory"),
    (re.compile(r"kcompactd\d*"), "compacts memory"),
    (re.compile(r"khugepaged"), "collapses pages into huge ones"),
)
# fs/nfs/nfs4state.c nfs4_schedule_state_manager(): "%s-manager", cut to 15 characters.
_NFS_MANAGER = re.compile(r"(?P<address>[\d.]{7,15}|[\da-f:]{3,})-(?:m[anger]*)?")
# Without a link, the tasks nearest to the device come first.
_NEARNESS = (
    (c.RAID_OR_DM, c.DEVICE_IO, c.BLOCK_QUEUE),
    (c.PAGE_WRITEBACK, c.DIRTY_THROTTLE),
    (c.JOURNAL_BUFFER, c.JOURNAL_COMMIT_WAIT, c.JOURNAL_SPACE, c.LOG_SPACE),
    (c.JOURNAL_TRANSACTION, c.FS_TRANSACTION),
    (c.PAGE_LOCK, c.INODE_LOCK, c.FS_LOCK),
)
_SHOWN = 3
# What is said of a class whose locks have names, and how it goes on with one.
_VAGUE = {
    c.DOES[c.OTHER]: "waits for a lock or event of the kernel",
    BLOCK_LOCK.words: BLOCK_LOCK.words,
    **{
        c.DOES[name]: c.DOES[name]
        for name in (c.FS_LOCK, c.RAID_OR_DM, c.FS_TRANSACTION, c.INODE_LOCK)
    },
}


def does(stuck: Stuck) -> str:
    """What a task does, for the sentence."""
    task, cls = stuck.task, stuck.verdict.cls
    if stuck.owner:
        return _owner_does(stuck)
    if not (task.frames or task.guesses):
        return "is stuck; its stack is not in the log"
    if where := preempted_in(task.frames):
        return f"runs, or waits for a CPU, in {where}()"
    if words := _makes_memory(stuck):
        return words
    if (stuck.role, cls) == (c.JOURNAL, c.JOURNAL_TRANSACTION):
        return "waits until every handle of its transaction has stopped"
    words = stuck.verdict.words
    if words in _VAGUE:
        return _vague(stuck, words)
    is_nfs = stuck.verdict.named == NFS_ANSWER
    if is_nfs and (server := _NFS_MANAGER.fullmatch(task.comm or "")):
        return f"waits for the answer of the NFS server {server['address']}"
    named = f"its cgroup {task.cgroup}" if task.cgroup else "its cgroup"
    return words.replace("its cgroup", named)


def _vague(stuck: Stuck, words: str) -> str:
    """What a task does whose class leaves open what it waits for."""
    is_work = words == c.DOES[c.OTHER] and sleep_kind(stuck) == WORK
    vague = "waits until a work is done" if is_work else _VAGUE[words]
    if known := asked.words(stuck, vague):
        return known
    if words == c.DOES[c.OTHER]:
        return sleep_words(stuck)
    return f"{words}, in {stuck.caller}()" if stuck.caller else words


def _makes_memory(stuck: Stuck) -> str:
    """What a task does that reclaims memory for others, or waits in a shrinker."""
    if inner := stuck.in_shrinker:
        words = inner.words if inner.rule else _vague(stuck, c.DOES[c.OTHER])
        return f"reclaims memory, and inside a shrinker {words}"
    if stuck.verdict.named:
        return ""
    comm = stuck.task.comm or ""
    makes = next((words for name, words in _MAKES_MEMORY if name.fullmatch(comm)), "")
    if inner := stuck.in_reclaim:
        return f"{makes or 'reclaims memory'}, and meanwhile {inner.words}"
    if makes and (known := asked.words(stuck, "waits for a lock")):
        return f"{makes}, and meanwhile {known}"
    return makes


def _owner_does(stuck: Stuck) -> str:
    """What a lock's owner does that is no stuck task."""
    if not (stuck.task.frames or stuck.task.guesses):
        return "holds the lock (its stack is not in the log)"
    if stuck.runs:
        return f"runs, in {runs_in(stuck.frames)}()"
    if stuck.task.state in (None, "R"):
        return "holds the lock and runs"
    if stuck.task.state == "S":
        return "holds the lock and sleeps interruptibly"
    return f"holds the lock in state {stuck.task.state}"


def nearness(stuck: Stuck) -> float:
    """How near to the device a task waits; 0 is nearest. A journal is nearer than those
    that wait for it."""
    for at, row in enumerate(_NEARNESS):
        if stuck.verdict.cls in row:
            return at and at - 0.5 * (stuck.role == c.JOURNAL)
    return len(_NEARNESS)


def sentence(answer: LogAnswer, where: str) -> str:
    """The answer in one sentence: the root with most tasks behind it."""
    if not answer.tasks:
        return f"no stuck task in {where}."
    stuck = [at for at, task in enumerate(answer.tasks) if not task.owner]
    start = f"{many(_count(answer, stuck), 'stuck task')} in {where}"
    if answer.several_moments:
        start += f", in {answer.moments} moments"
    if not (answer.links or answer.knot):
        return f"{start}: {_without_links(answer)}"
    behind, kinds, others = _ends(answer)
    parts = [_end(answer, ends, behind) for ends in kinds[:_SHOWN]]
    if len(kinds) > _SHOWN:
        parts.append(f"and {len(kinds) - _SHOWN} more like it")
    besides = [_end(answer, ends, behind) for ends in others[: _SHOWN - len(kinds)]]
    parts += [f"besides, {besides[0]}", *besides[1:]] if besides else []
    more = [at for ends in others[len(besides) :] for end in ends for at in behind[end]]
    if rest := _count(answer, more):
        parts.append(f"and {rest} more tasks" if rest > 1 else "and one more task")
    return f"{start}: {'; '.join(parts)}."


def root(answer: LogAnswer) -> int:
    """The index of the first root that the sentence names."""
    if not (answer.links or answer.knot):
        return answer.tasks.index(next(iter(_kinds(answer).values()))[0])
    return _ends(answer)[1][0][0]


_Ends = list[list[int]]


def _ends(answer: LogAnswer) -> tuple[dict[int, list[int]], _Ends, _Ends]:
    """The tasks behind each root; the kinds of roots with most of them, of each the
    root with most first; and the other kinds, those that nothing joins last."""
    behind: dict[int, list[int]] = {}
    for at, task in enumerate(answer.tasks):
        followers = behind.setdefault(_root(answer, at), [])
        if not task.owner:
            followers.append(at)
    # A task without a known holder is its own root.
    lone = {end for end in behind if behind[end] == [end] and not answer.ring(end)}
    kinds: dict[object, list[int]] = {}
    apart: dict[object, list[int]] = {}
    words = _Words()
    lonely = Counter(words.of(answer.tasks[end]) for end in lone)
    for end in sorted(behind, key=lambda end: (end in lone, -len(behind[end]))):
        task = answer.tasks[end]
        own = task.owner or answer.ring(end)
        kind = end if own else (task.task.host, words.of(task))
        like = kinds.get(kind)
        # The device that several lie on is not in their names.
        below = task.verdict.cls == c.RAID_OR_DM
        if like and not below and differ(answer.tasks[like[0]].disks, task.disks):
            kind = end
        # Who waits farther from the device may wait for one of those nearest to it.
        counts = kind in kinds and not nearness(task)
        if end not in lone or counts or lonely[words.of(task)] > len(behind) / 2:
            kinds.setdefault(kind, []).append(end)
        else:
            apart.setdefault(kind, []).append(end)
    size = {kind: sum(len(behind[end]) for end in kinds[kind]) for kind in kinds}
    most = max(size.values())
    ends = [kinds[kind] for kind in kinds if size[kind] == most]
    others = [kinds[kind] for kind in kinds if size[kind] < most]
    others.sort(key=lambda ends: -sum(len(behind[end]) for end in ends))
    far = sorted(apart.values(), key=lambda ends: nearness(answer.tasks[ends[0]]))
    return behind, ends, others + far


class _Words:
    """What tasks do; a log of thousands of them has few stacks."""

    def __init__(self) -> None:
        self._known: dict[object, str] = {}

    def of(self, task: Stuck) -> str:
        """What a task does."""
        key = (task.frames, task.verdict, task.owner, task.task.comm, task.task.cgroup)
        if key not in self._known:
            self._known[key] = does(task)
        return self._known[key]


def _count(answer: LogAnswer, rows: Iterable[int]) -> int:
    """How many tasks these rows are of; one may have been stuck in several ways."""
    return len({_key(answer.tasks[at]) for at in rows})


def _key(stuck: Stuck) -> object:
    task = stuck.task
    return task.host, task.comm, id(stuck) if task.pid is None else task.pid


def _root(answer: LogAnswer, at: int) -> int:
    """The end of a task's chain; of a circle, its first task."""
    end = answer.path(at)[-1]
    circle = answer.ring(end)
    return min(circle) if circle else end


def _may_end(answer: LogAnswer, at: int) -> str:
    """The two of which one may end a task's wait."""
    if either := answer.either(at):
        return f" ({' or '.join(answer.named(either))} may end that)"
    return ""


def _end(answer: LogAnswer, ends: list[int], behind: dict[int, list[int]]) -> str:
    """What a kind of roots is, and how many tasks come down to it."""
    roots = [answer.tasks[end] for end in ends]
    followers = [at for end in ends for at in behind[end]]
    circle = answer.ring(ends[0])
    count = _count(answer, followers)
    what = does(roots[0]) + _may_end(answer, ends[0])
    if not circle and sorted(ends) == sorted(followers):
        return _alike(answer, roots, what)
    if not circle:
        who = _alike(answer, roots, f"which {what}")
        steps = {step for at in followers for step in answer.path(at)}
        may = bool(steps & answer.whichever.keys()) or any(
            answer.links[step].confidence == POSSIBLE or answer.links[step].hint
            for step in steps
            if step in answer.links
        )
        first = answer.name(answer.tasks[followers[0]])
        if count == 1:
            return f"{first} {'may come' if may else 'comes'} down to {who}"
        return f"{count} of them {'may ' if may else ''}come down to {who}"
    names = ", ".join(answer.named(sorted(circle)))
    if len(circle) == 1:
        itself = f"{names} waits for a lock that it holds itself"
        if not answer.links[circle[0]].is_sure:
            itself = f"{names} {what}, and may be itself who has to end that"
        return f"{itself}; {count - 1} wait for it" if count > 1 else itself
    if answer.is_deadlock(circle):
        return f"{count} of them end in a deadlock: {names} wait for each other"
    does_what = "; ".join(
        f"{answer.name(answer.tasks[at])} {does(answer.tasks[at])}"
        for at in sorted(circle)[:_SHOWN]
    )
    does_what += f"; and {len(circle) - _SHOWN} more" * (len(circle) > _SHOWN)
    return f"{count} of them may wait in a circle (a guess, no proof): {does_what}"


def _without_links(answer: LogAnswer) -> str:
    """Nothing joins the tasks: each is its own root, the device's first."""
    tasks, alike = answer.tasks, _kinds(answer)
    said = [
        _alike(answer, same, what + _may_end(answer, tasks.index(same[0])))
        for what, same in list(alike.items())[:_SHOWN]
    ]
    if len(tasks) == 1:
        return f"{said[0]}."
    rest = sum(map(len, list(alike.values())[_SHOWN:]))
    more = f"; and {rest} more" if rest else ""
    return f"nothing joins them: {'; '.join(said)}{more}."


def _kinds(answer: LogAnswer) -> dict[str, list[Stuck]]:
    """The tasks that nothing joins, by what they do: what most of them do first, then
    those nearest to the device."""
    words = _Words()
    found: dict[str, list[Stuck]] = {}
    for task in sorted(answer.tasks, key=nearness):
        found.setdefault(words.of(task), []).append(task)
    most = len(answer.tasks) / 2
    return dict(sorted(found.items(), key=lambda kind: len(kind[1]) <= most))


def _alike(answer: LogAnswer, tasks: list[Stuck], what: str) -> str:
    """Tasks that all do the same, by the first; one may do it at several places."""
    names = {_key(task): answer.name(task) for task in tasks}
    first, *rest = names.values()
    like = (
        f", like {rest[0] if len(rest) == 1 else f'{len(rest)} more'}" if rest else ""
    )
    comma = "," if rest or what.startswith("which ") else ""
    return f"{first} ({tasks[0].role}){like}{comma} {what}"
