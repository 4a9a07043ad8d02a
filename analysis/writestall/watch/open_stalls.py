# SPDX-License-Identifier: GPL-2.0-only
"""open_stalls: find what a call that has not ended sleeps on, and who holds that.

No event tells of a sleep before its end. The stacks of the tasks that sleep now, as
/proc shows them, are what a kernel log of stuck tasks holds, and they are explained as
one (log/links.py): who holds what is a guess by the rules there, or not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from writestall.chain.cgroups import Naming, crosses
from writestall.events.calls import NO_SYSTEM_CALLS
from writestall.log.links import LogAnswer, explain_log
from writestall.log.reading import read_log
from writestall_base.units import printable

MOST_HOLDERS = 3
# What a name may hold that a log's reader could take for a line's own words.
_UNSAFE = re.compile(r"[^\w/:.-]")
S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sleeping:
    """A task in an uninterruptible sleep.

    call, path  of the system call it is in; None for none, or none that is listed
    since_ns    when it was first seen in that call, CLOCK_MONOTONIC
    stack       lines of /proc/PID/stack, innermost frame first; `wchan` where it is
                empty
    """

    tid: int
    comm: str
    since_ns: int
    call: str | None = None
    path: str | None = None
    cgroup: str = ""
    stack: tuple[str, ...] = ()
    wchan: str = ""


def texts(
    tasks: Sequence[Sleeping], shown: Iterable[int], now_ns: int
) -> Iterator[str]:
    """A line for each of the tasks `shown`, from the stacks of all."""
    answer = explain_log(read_log(_as_log(tasks)))
    places = {stuck.task.pid: at for at, stuck in enumerate(answer.tasks)}
    known = {task.tid: task for task in tasks}
    for tid in shown:
        task = known[tid]
        age_s = (now_ns - task.since_ns) / S
        call = task.call or "write"
        name = call if call in NO_SYSTEM_CALLS else f"{call}(2)"
        yield printable(
            f"{task.comm}/{tid} {name} {task.path or '?'}"
            f" has not ended for {age_s:.0f} s: {_sleep(answer, places.get(tid), task)}"
        )


def with_group(text: str, group: str, name: Naming) -> str:
    """A line with the name of the task's cgroup behind it."""
    return f"{text} (in {name(group)})" if crosses(group, "/") and group else text


def _as_log(tasks: Sequence[Sleeping]) -> Iterator[str]:
    """The tasks as sysrq w prints them (kernel/sched/core.c, sched_show_task())."""
    for task in tasks:
        comm = _UNSAFE.sub("_", task.comm)
        yield f"task:{comm} state:D stack:0 pid:{task.tid} ppid:0"
        yield "Call Trace:"
        by_wchan = () if task.wchan in ("", "0") else (f"{task.wchan}+0x0/0x0",)
        yield from (f" {line}" for line in task.stack or by_wchan)


def _sleep(answer: LogAnswer, at: int | None, task: Sleeping) -> str:
    """What it sleeps on, and from holder to holder."""
    if at is None:
        return (
            f"it sleeps in {task.wchan or 'an unknown function'}; its stack is unknown"
        )
    words = []
    path = answer.path(at)[: MOST_HOLDERS + 1]
    for number, place in enumerate(path):
        stuck = answer.tasks[place]
        what = f"{'which' if number else 'it'} waits for {stuck.verdict.cls}"
        if number == 0 and stuck.verdict.path:
            what += f" in {stuck.verdict.path[-1]}"
        words.append(what)
        if link := answer.links.get(place):
            sure = "" if link.is_sure else f"{link.confidence} "
            words.append(f"{sure}held by {answer.name(link.holder)}")
        elif (end := answer.whichever.get(place)) is not None:
            several = len(answer.choices[place].holders)
            root = answer.name(answer.tasks[end])
            words.append(f"held by one of {several} that all come down to {root}")
    if len(words) == 1:
        words.append("who holds that is not known")
    return ", ".join(words)
