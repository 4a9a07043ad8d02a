# SPDX-License-Identifier: GPL-2.0-only
"""links: find who waits for whom among the stuck tasks of one kernel log.

A log has no wakers. What the kernel says itself comes first: `reported`. The rest
follows from what each class of waiting needs to end (holders/) and is a guess: `likely`
where one task fits, `possible` where it may be another one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from writestall.classify.stack import (
    Verdict,
    classify_frames,
    role_of,
    says_who,
)
from writestall.log.answer import LogAnswer
from writestall.log.asleep import UNKNOWN as NOT_ASLEEP
from writestall.log.asleep import preempted_in, trace_kind
from writestall.log.grace_periods import STALLS_RCU
from writestall.log.holders import HOLDERS
from writestall.log.holders.around import Around, TooManyError
from writestall.log.holders.form import Holder
from writestall.log.not_stuck import is_not_stuck
from writestall.log.reading import LoggedTask
from writestall.log.said import reported
from writestall.log.stuck import LIKELY, POSSIBLE, REPORTED, Choice, Link, Stuck
from writestall.log.times import duration
from writestall_base import wait_classes as c

__all__ = [
    "LIKELY",
    "POSSIBLE",
    "REPORTED",
    "Link",
    "LogAnswer",
    "Stuck",
    "explain_log",
]


@dataclass(slots=True)
class _Sorted:
    """The tasks of a log: those that are stuck, those that a CPU runs, those of which
    there is a list of locks alone; and how many others there are."""

    stuck: dict[object, Stuck] = field(default_factory=dict)
    running: dict[object, Stuck] = field(default_factory=dict)
    listed: list[LoggedTask] = field(default_factory=list)
    not_stuck: int = 0
    no_sleeps: Counter[str] = field(default_factory=Counter)

    def take(self, task: LoggedTask, owner: bool) -> None:
        """Sort one; `owner`: the kernel names it as a lock's owner."""
        if not task.guesses and task.held:
            self.listed.append(task)
        elif is_not_stuck(task) and not owner:
            self.not_stuck += 1
            if task.state == "R":
                self._run(task)
        elif kind := trace_kind(task):
            self.no_sleeps[kind] += task.times
            if kind == NOT_ASLEEP or task.stalls_rcu:
                self._run(task)
        else:
            _count(self.stuck, _classified(task, owner))

    def _run(self, task: LoggedTask) -> None:
        if (task.frames or task.stalls_rcu) and task.pid:
            role = _role(tuple(task.frames), task.comm)
            verdict = Verdict(c.OTHER)
            _count(self.running, Stuck(task, verdict, role, owner=True, runs=True))


def explain_log(tasks: Iterable[LoggedTask]) -> LogAnswer:
    """The stuck tasks of a log, each once per kind of wait, and the links between
    those that stood in one shot of it."""
    tasks = tuple(tasks)
    named = {
        (task.host, task.shot, task.blocker.owner) for task in tasks if task.blocker
    }
    found = _Sorted()
    for task in tasks:
        found.take(task, (task.host, task.shot, task.pid) in named)
    rows = list(found.stuck.values())
    links, choices = _linked(rows, found)
    answer = LogAnswer(tuple(rows), links, found.not_stuck, found.no_sleeps)
    _drop_mixed_chains(answer)
    _drop_circles_of_one_rule(answer)
    return replace(answer, choices=choices)


def _linked(
    rows: list[Stuck], found: _Sorted
) -> tuple[dict[int, Link], dict[int, Choice]]:
    """The links and choices of the rows by their indexes; a task that a CPU runs and
    that one waits for becomes a row."""
    links = reported(rows, found.listed)
    around, running = _by_shot(rows), _by_shot(found.running.values())
    stalling = _stalling((*rows, *found.running.values()))
    choices, added = {}, set[int]()
    for at, row in enumerate(tuple(rows)):
        if at in links:
            continue
        one = (
            _behind_stall(row, stalling)
            or _link(row, around)
            or _behind_runner(row, running)
        )
        if isinstance(one, Link):
            links[at] = one
            if one.holder.runs and id(one.holder) not in added:
                added.add(id(one.holder))
                rows.append(one.holder)
        elif one:
            choices[at] = one
    return links, choices


def _count(stuck: dict[object, Stuck], found: Stuck) -> None:
    """Add a task; one reported again (every 120 s) counts once, as last seen."""
    task = found.task
    name = task.pid if task.pid is not None else ("line", task.line)
    owner = task.blocker.owner if task.blocker else None
    key = (task.host, name, found.verdict.cls, found.verdict.path, owner)
    before = stuck.pop(key, None)
    stuck[key] = replace(
        found,
        seen={**(before.seen if before else {}), task.shot: task},
        times=(before.times if before else 0) + task.times,
    )


# A log repeats a few stacks, every 120 seconds and for every task of a pool.
_verdict = lru_cache(maxsize=4096)(classify_frames)
_role = lru_cache(maxsize=4096)(role_of)


def _classified(task: LoggedTask, owner: bool) -> Stuck:
    role = _role(tuple(task.frames or task.guesses), task.comm)
    if role == c.ROLE_OTHER and task.workqueue:
        role = role_of((), f"kworker/{task.workqueue}")
    owner = owner and is_not_stuck(task)
    verdict = _verdict(tuple(task.frames))
    if owner and task.state in (None, "R"):
        # It runs: whatever its stack shows it to have slept in is over.
        return Stuck(task, Verdict(c.OTHER, verdict.path), role, owner=True)
    if preempted_in(task.frames):
        return Stuck(task, Verdict(c.OTHER, verdict.path), role)
    # Where the kernel is sure of who called whom, the rest of the stack says nothing.
    if verdict.rule is None and not says_who(task.frames):
        doubtful = _verdict(tuple(task.guesses))
        if doubtful.rule is not None or says_who(task.guesses):
            return Stuck(task, doubtful, role, guessed=True, owner=owner)
    return Stuck(task, verdict, role, guessed=task.cut, owner=owner)


_Shots = dict[tuple[str, int], Around]


def _by_shot(rows: Iterable[Stuck]) -> _Shots:
    """The tasks of each shot of each host."""
    shots: _Shots = {}
    for row in rows:
        for shot in row.seen:
            around = shots.setdefault((row.task.host, shot), Around(shot))
            around.tasks.append(row)
    return shots


def _link(waiter: Stuck, shots: _Shots) -> Link | Choice | None:
    """Who a task waits for, where somebody who was stuck at the same time fits, or the
    two that fit alike.

    The last shot in which anybody does is taken.
    """
    choice, rules = None, _asked(waiter)
    for shot in sorted(waiter.shots, reverse=True) if rules else ():
        for rule in rules:
            around = shots[waiter.task.host, shot]
            found = rule.fitting(waiter, around)
            if not found:
                continue
            # Where the better rule fits too many, a worse one knows no better, at
            # another time neither.
            chosen = rule.choose(waiter, found)
            if chosen and rule.lock:
                chosen = _unless_another(waiter, chosen, rule, rules, around)
            if chosen is None:
                choice = choice or _choice(waiter, rules[rules.index(rule) :], around)
                rules = rules[: rules.index(rule)]
                break
            if _has_moved_on(waiter, chosen[0], shots):
                continue
            why = rule.reason(waiter, chosen[0])
            made = rule.made(waiter, chosen[0])
            link = Link(waiter, *chosen, why, made, rule.stacked)
            return _marked(link, around.gap_s(waiter, link.holder))
    return choice


def _asked(waiter: Stuck) -> list[Holder]:
    """The rules about what a task waits for, better ones first.

    /proc/PID/stack does not show how a task sleeps, so there the class may be unknown:
    rules of the others that name the function are asked as well.
    """
    verdicts = (waiter.verdict, waiter.in_shrinker)
    known = [rule for v in verdicts if v for rule in HOLDERS[v.cls]]
    if waiter.is_headless:
        known += [rule for row in HOLDERS.values() for rule in row if rule.caller]
    return [rule for rule in dict.fromkeys(known) if rule.asks(waiter)]


def _choice(waiter: Stuck, rules: list[Holder], around: Around) -> Choice | None:
    """All that fit the rules, the first of which fits too many; nothing where they are
    more than are kept."""
    try:
        best, *worse = (rule.fitting(waiter, around.whole) for rule in rules)
    except TooManyError:
        return None
    if len(best) < _TWO:
        return None
    once = {task.order(): task for fit in (best, *worse) for task in fit}
    return Choice(waiter, tuple(once.values()), rules[0].why, len(best))


def _behind_runner(waiter: Stuck, shots: _Shots) -> Link | None:
    """The link to the one task on a CPU that fits a rule about one object, where nobody
    who is stuck does."""
    sure = [rule for rule in HOLDERS[waiter.verdict.cls] if rule.confidence == LIKELY]
    asked = [rule for rule in sure if rule.asks(waiter)]
    for shot in sorted(waiter.shots, reverse=True):
        around = shots.get((waiter.task.host, shot), Around(shot))
        for rule in asked:
            found = rule.fitting(waiter, around)
            if len(found) == 1:
                made = rule.made(waiter, found[0])
                return Link(waiter, found[0], POSSIBLE, rule.why, made)
    return None


_Stalling = Mapping[tuple[str, int], Mapping[int | None, Stuck]]


def _stalling(tasks: Iterable[Stuck]) -> _Stalling:
    """Those that RCU names, by host and shot, and by pid."""
    found: dict[tuple[str, int], dict[int | None, Stuck]] = defaultdict(dict)
    for one in tasks:
        for shot, task in one.seen.items():
            if task.stalls_rcu:
                found[task.host, shot].setdefault(task.pid, one)
    return found


def _behind_stall(waiter: Stuck, stalling: _Stalling) -> Link | None:
    """The link to the one task that RCU names, of one that waits for a grace period."""
    for shot in sorted(waiter.shots, reverse=True) if waiter.for_grace_period else ():
        named = [*stalling.get((waiter.task.host, shot), {}).values()]
        if len(named) == 1 and named[0] is not waiter:
            return Link(waiter, named[0], LIKELY, STALLS_RCU)
    return None


def _has_moved_on(waiter: Stuck, holder: Stuck, shots: _Shots) -> bool:
    """True where the waiter was still stuck when the holder waited for other things."""
    later = [shot for shot in waiter.shots if shot > max(holder.shots)]
    return any(holder.task.pid in shots[waiter.task.host, shot].pids for shot in later)


def _unless_another(
    waiter: Stuck,
    chosen: tuple[Stuck, str],
    rule: Holder,
    rules: list[Holder],
    around: Around,
) -> tuple[Stuck, str] | None:
    """A holder and how sure it is, where other rules about the same lock give none but
    it; a step less sure, or nobody, where they give another one."""
    holder, confidence = chosen
    for other in rules[rules.index(rule) + 1 :]:
        if other.lock != rule.lock or other.source == rule.source:
            continue
        found = other.fitting(waiter, around)
        if rule.same_program and holder.task.comm == waiter.task.comm:
            found = [task for task in found if task.task.comm == waiter.task.comm]
        if any(task.order() != holder.order() for task in found):
            if confidence == POSSIBLE and not rule.any_right:
                return None
            confidence = POSSIBLE
    return holder, confidence


def _marked(link: Link, gap: float) -> Link:
    """The link; a step less sure, and marked, where its reports are far apart."""
    if link.waiter.task.was_stuck(gap) or link.holder.task.was_stuck(-gap):
        return link
    when = "later" if gap > 0 else "earlier"
    why = f"{link.why}; it was reported {duration(abs(gap))} {when}"
    return replace(link, confidence=POSSIBLE, why=why, hint=True)


_TWO = 2  # candidates between which there is a choice
_ORDER = (POSSIBLE, LIKELY, REPORTED)


def _drop_mixed_chains(answer: LogAnswer) -> None:
    """Drop the weaker of two guesses that join two file systems through a journal.

    A stack of a journal alone may belong to several (file_systems.py), but to one only.
    """
    rows = answer.tasks
    for at, mid in sorted(answer.after.items(), key=lambda one: rows[one[0]].order()):
        if at not in answer.links or mid not in answer.links:
            continue
        first, second = answer.links[at], answer.links[mid]
        one, other = first.waiter.file_systems, second.holder.file_systems
        if not one or not other or one & other or len(first.holder.file_systems) < 2:
            continue
        if REPORTED in (first.confidence, second.confidence) or second.stacked:
            continue
        strengths = [_ORDER.index(link.confidence) for link in (first, second)]
        worst = mid if strengths[1] < strengths[0] else at
        del answer.links[worst], answer.after[worst]


def _drop_circles_of_one_rule(answer: LogAnswer) -> None:
    """Drop the guesses of every circle that one rule of guessing made.

    It fits both ways, so it does not tell who waits for whom; one that may wait for
    itself is none.
    """
    rows = answer.tasks
    for at in sorted(range(len(rows)), key=lambda one: rows[one].order()):
        circle = answer.circle(at)
        links = {step: answer.links[step] for step in circle}
        if len(circle) == 1 or len({link.rule for link in links.values()}) != 1:
            continue
        for step, link in links.items():
            if link.confidence != REPORTED:
                del answer.links[step], answer.after[step]
