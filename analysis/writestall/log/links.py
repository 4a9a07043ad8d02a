# SPDX-License-Identifier: GPL-2.0-only
"""links: tell who waits for whom among the stuck tasks of one kernel log.

A log has no wakers. What the kernel says itself comes first: `reported`. The rest
follows from what each class of waiting needs to end (holders/) and is a guess: `likely`
where one task fits, `possible` where it may be another one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from writestall.classify.stack import (
    Verdict,
    classify_frames,
    first_caller,
    role_of,
    says_who,
)
from writestall.log.asleep import trace_kind
from writestall.log.holders import HOLDERS
from writestall.log.holders.around import Around
from writestall.log.owners import Blocker
from writestall.log.reading import LoggedTask
from writestall.log.stuck import LIKELY, POSSIBLE, REPORTED, Link, Stuck
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
# States in which a task is not stuck: kernel/sched/core.c, task_state_to_char().
_AT_EASE = frozenset("RSIZXTtPWN")


@dataclass(frozen=True)
class LogAnswer:
    """All stuck tasks of a log and the links between them, at most one for each.

    `not_stuck` counts the tasks left out for their state, `no_sleeps` the traces that
    are no sleeps, by what they are called.
    """

    tasks: tuple[Stuck, ...]
    links: dict[int, Link]
    not_stuck: int = 0
    no_sleeps: Mapping[str, int] = field(default_factory=dict)

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
    def after(self) -> dict[int, int]:
        """For the index of each task that waits for one, the index of that one."""
        index = {id(task): at for at, task in enumerate(self.tasks)}
        return {at: index[id(link.holder)] for at, link in self.links.items()}

    def cycles(self, at: int) -> bool:
        """True when a task's chain comes back on itself."""
        path = self.path(at)
        return len(set(path)) < len(path)

    def path(self, at: int) -> list[int]:
        """Indexes from a task to the root of its waiting; a circle ends it."""
        path, seen = [at], {at}
        while (after := self.after.get(path[-1])) is not None:
            path.append(after)
            if after in seen:
                break
            seen.add(after)
        return path

    def circle(self, at: int) -> list[int]:
        """The tasks of the circle that a task's chain ends in; empty without one."""
        path = self.path(at)
        return path[path.index(path[-1]) : -1] if len(set(path)) < len(path) else []


def explain_log(tasks: Iterable[LoggedTask]) -> LogAnswer:
    """The stuck tasks of a log, each once per kind of wait, and the links between
    those that stood in one shot of it."""
    tasks = tuple(tasks)
    named = {
        (task.host, task.shot, task.blocker.owner) for task in tasks if task.blocker
    }
    stuck: dict[object, Stuck] = {}
    not_stuck = 0
    no_sleeps: Counter[str] = Counter()
    listed: list[LoggedTask] = []
    for task in tasks:
        owner = (task.host, task.shot, task.pid) in named
        if not task.guesses and task.held:
            listed.append(task)
        elif _is_at_ease(task) and not owner:
            not_stuck += 1
        elif kind := trace_kind(task):
            no_sleeps[kind] += task.times
        else:
            _count(stuck, _classified(task, owner))
    rows = list(stuck.values())
    links = _reported(rows, listed)
    around = _by_shot(rows)
    for at, row in enumerate(rows):
        if at not in links and (link := _link(row, around)):
            links[at] = link
    answer = LogAnswer(tuple(rows), links, not_stuck, no_sleeps)
    _drop_mixed_chains(answer)
    _drop_circles_of_one_rule(answer)
    return answer


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


# Where tasks sleep that want nothing: the loops of kernel threads (kernel/workqueue.c,
# kernel/kthread.c, fs/jbd2/journal.c, drivers/md/md.c) and calls that wait for time,
# input or another process.
_IDLE = re.compile(
    r"worker_thread|kthread(_worker_fn)?|rescuer_thread|kthreadd|kjournald2?|xfsaild"
    r"|md_thread|smpboot_thread_fn|kswapd\w*|kcompactd|khugepaged|transaction_kthread"
    r"|cleaner_kthread|loop_thread|bdi_forker_\w+|kauditd_thread|khungtaskd|watchdog"
    r"|(do|hrtimer)_nanosleep|\w*poll_schedule_timeout|ep_poll|futex_wait\w*|do_wait"
    r"|do_sys_poll|do_select|pipe_(read|wait\w*)|n_tty_read|sigsuspend|do_sigtimedwait"
    r"|inet_csk_accept|skb_wait_for_more_packets|sk_wait_data|unix_stream_\w+"
    r"|do_syslog|signalfd_read\w*|eventfd_read|inotify_read|io_cqring_wait"
    r"|ext4_lazyinit_thread|gc_thread_func|issue_(discard|flush|checkpoint)_thread"
    r"|xfssyncd|xfsbufd|gfs2_(logd|quotad)|jfs_(lazycommit|sync)|jfsIOWait|dmcrypt_write"
    r"|nilfs_(segctor|log_write)_thread|bdi_(writeback_(thread|task)|sync_supers)"
    r"|__pdflush|svc_recv|nfsd|lockd|scsi_error_handler|oom_reaper|rcu_gp_kthread"
    r"|io_wqe?_worker|txg_thread_wait"
)


# Functions on the stacks of CPUs that are made to show what they do, and of those that
# do nothing (lib/nmi_backtrace.c, kernel/hung_task.c, kernel/sched/idle.c).
_RUNS = re.compile(
    r"nmi_cpu_backtrace|nmi_trigger_\w+|arch_trigger_\w+|check_hung_\w+|watchdog_timer_fn"
    r"|cpu_startup_entry|do_idle|cpu_idle|start_secondary"
)


def _is_at_ease(task: LoggedTask) -> bool:
    """True for a task in no state of waiting, and for one without a state whose stack
    shows that it runs, or waits for work."""
    if task.state is not None or not task.frames:
        return task.state in _AT_EASE
    if any(_RUNS.fullmatch(frame.symbol) for frame in task.frames):
        return True
    return bool(_IDLE.fullmatch(first_caller(task.frames)))


# A log repeats a few stacks, every 120 seconds and for every task of a pool.
_verdict = lru_cache(maxsize=4096)(classify_frames)
_role = lru_cache(maxsize=4096)(role_of)


def _classified(task: LoggedTask, owner: bool) -> Stuck:
    role = _role(tuple(task.frames or task.guesses), task.comm)
    if role == c.ROLE_OTHER and task.workqueue:
        role = role_of((), f"kworker/{task.workqueue}")
    owner = owner and _is_at_ease(task)
    verdict = _verdict(tuple(task.frames))
    if owner and task.state in (None, "R"):
        # It runs: whatever its stack shows it to have slept in is over.
        return Stuck(task, Verdict(c.OTHER, verdict.path), role, owner=True)
    # Where the kernel is sure of who called whom, the rest of the stack says nothing.
    if verdict.rule is None and not says_who(task.frames):
        doubtful = _verdict(tuple(task.guesses))
        if doubtful.rule is not None:
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


def _reported(rows: list[Stuck], listed: list[LoggedTask]) -> dict[int, Link]:
    """What the kernel says: the owners it names, then its lists of locks.

    An owner without a stack in the log becomes a row of its own, at the end.
    """
    said = _Said(rows, listed)
    links = {}
    for at, row in enumerate(tuple(rows)):
        named, listed_as = said.owner(row), said.lock_list(row)
        if named and listed_as and named.holder is not listed_as.holder:
            other = listed_as.why.removesuffix("it") + listed_as.holder.name
            more = f"{named.why}; but {other}"
            named = replace(named, why=more, hint=True)
        if link := named or listed_as:
            links[at] = link
    return links


class _Said:
    """What the kernel says about locks, by task and by lock."""

    def __init__(self, rows: list[Stuck], listed: list[LoggedTask]) -> None:
        self._rows = rows
        self._tasks: dict[tuple[str, int, int | None], Stuck] = {}
        self._others: dict[tuple[str, int, int | None, str | None], Stuck] = {}
        self._holding: dict[tuple[str, str], list[Stuck]] = defaultdict(list)
        for row in rows:
            self._keep(row)
        for task in listed:
            if (task.host, task.shot, task.pid) not in self._tasks:
                self._keep(_unseen(task, (task.shot,)))

    def _keep(self, row: Stuck) -> None:
        for shot in row.shots:
            self._tasks[row.task.host, shot, row.task.pid] = row
        for held in {held.address or held.name: held for held in row.task.held}:
            self._holding[row.task.host, held].append(row)

    def _shown(self, row: Stuck) -> Stuck:
        """The row, as one of the answer."""
        if row.task.held and not row.task.guesses and row not in self._rows:
            self._rows.append(row)
        return row

    def owner(self, row: Stuck) -> Link | None:
        """The owner that hung_task.c names."""
        said = row.task.blocker
        if said is None or said.owner is None:
            return None
        holder = self._named(row, said) or self._gone(row, said)
        confidence, why, hint = REPORTED, said.why, said.is_hint
        if late_s := row.task.owner_after_s:
            confidence, hint = LIKELY, True
            why += f", {duration(late_s)} after the stack"
        return Link(row, holder, confidence, why, hint=hint)

    def _named(self, row: Stuck, said: Blocker) -> Stuck | None:
        """The owner's stack, if the log has it: of that pid, and under that name."""
        for shot in sorted(row.shots, reverse=True):
            holder = self._tasks.get((row.task.host, shot, said.owner))
            if holder and (not holder.task.comm or holder.task.comm == said.comm):
                return self._shown(holder)
        return self._others.get((row.task.host, row.task.shot, said.owner, said.comm))

    def _gone(self, row: Stuck, said: Blocker) -> Stuck:
        """A row for an owner that the log shows no stack of."""
        host, shot = row.task.host, row.task.shot
        task = LoggedTask(said.line, said.comm, said.owner, host=host, shot=shot)
        holder = _unseen(task, row.shots)
        self._rows.append(holder)
        for shot in row.shots:
            self._others[host, shot, said.owner, said.comm] = holder
        return holder

    def lock_list(self, row: Stuck) -> Link | None:
        """The holder of the lock a task waits for, by lockdep's lists.

        The same address is the same lock. A class of locks has many: without an
        address only one task may hold one of it, and that is no more than possible.
        """
        lock = row.wanted
        if lock is None:
            return None
        near = self._holding[row.task.host, lock.address or lock.name]
        holders = [
            task
            for task in near
            if task is not row and task.shots & row.shots and task.holds(lock)
        ]
        if not holders or (lock.address is None and len(holders) > 1):
            return None
        confidence = REPORTED if lock.address else POSSIBLE
        why = f"lockdep lists {lock.name} as held by it"
        if late_s := row.task.list_after_s:
            confidence = LIKELY if lock.address else POSSIBLE
            why += f", {duration(late_s)} after the stack"
        holder = self._shown(holders[0])
        return Link(row, holder, confidence, why, "lockdep", hint=late_s is not None)


def _unseen(task: LoggedTask, shots: Iterable[int]) -> Stuck:
    """A task that the kernel names and whose stack is not in the log."""
    role, seen = role_of((), task.comm), dict.fromkeys(shots, task)
    return Stuck(task, Verdict(c.OTHER), role, seen=seen, owner=True)


def _link(waiter: Stuck, shots: _Shots) -> Link | None:
    """Who a task waits for, where somebody who was stuck at the same time fits.

    The last shot in which anybody does is taken.
    """
    rules = [rule for rule in HOLDERS[waiter.verdict.cls] if rule.asks(waiter)]
    for shot in sorted(waiter.shots, reverse=True) if rules else ():
        for rule in rules:
            around = shots[waiter.task.host, shot]
            found = rule.fitting(waiter, around)
            if not found:
                continue
            # Where the better rule fits too many, a worse one knows no better.
            chosen = rule.choose(waiter, found)
            if chosen is None:
                return None
            why = rule.reason(waiter, chosen[0])
            link = Link(waiter, *chosen, why, rule.source, rule.stacked)
            return _marked(link, around.gap_s(waiter, link.holder))
    return None


def _marked(link: Link, gap: float) -> Link:
    """The link; a step less sure, and marked, where its reports are far apart."""
    if abs(gap) <= link.waiter.task.window_s:
        return link
    when = "later" if gap > 0 else "earlier"
    why = f"{link.why}; it was reported {duration(abs(gap))} {when}"
    return replace(link, confidence=POSSIBLE, why=why, hint=True)


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
    """Drop the weakest link of every circle that one rule of guessing made."""
    rows = answer.tasks
    for at in sorted(range(len(rows)), key=lambda one: rows[one].order()):
        circle = answer.circle(at)
        links = {step: answer.links[step] for step in circle}
        if len({link.rule for link in links.values()}) != 1:
            continue
        if any(link.confidence != REPORTED for link in links.values()):
            worst = min(
                links,
                key=lambda step: (
                    _ORDER.index(links[step].confidence),
                    rows[step].order(),
                ),
            )
            del answer.links[worst], answer.after[worst]
