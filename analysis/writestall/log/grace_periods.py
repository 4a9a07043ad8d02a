# SPDX-License-Identifier: GPL-2.0-only
"""grace_periods: read whom RCU names as those that its grace period waits for.

A stall report lists tasks that were preempted inside a reader, as P and their pid, and
CPUs, whose tasks it shows (kernel/rcu/tree_stall.h rcu_print_task_stall(),
print_cpu_stall_info(), rcu_dump_cpu_stacks(); tree_exp.h
synchronize_rcu_expedited_wait()).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass

from writestall.log.boots import Boots
from writestall.log.logged import LoggedTask
from writestall.log.times import Time, gap_s, time_of

_STALL = re.compile(r"\brcu_\w+ (?:self-)?detected (?:expedited )?stalls? on\b")
# Before 4.0 all stand in one line; so do those of expedited grace periods.
_BRACES = re.compile(r"\{([^}]{1,400})")
_NODE = re.compile(
    r"\bTasks blocked on level-\d{1,3} rcu_node \([^)]{1,40}\):(.{1,400})"
)
_TASK = re.compile(r"\bP(\d{1,10})\b")
_CPU = re.compile(r"(?:^|\s)(\d{1,5})(?:-[.\w!?]{2,5})?(?=\s|$)")
_CPU_LINE = re.compile(
    r"^\s{0,8}(?:rcu: )?\s{0,8}(\d{1,5})(?:-[.\w!?]{2,5})?: "
    r"\(\d{1,20} (?:GPs behind|ticks this GP)"
)
# What stands on lines of its own where CPUs print at once (kernel/printk/printk.c).
_ONE = r"(?:P\d{1,10}(?:/\d{1,5}:[.\w]{1,6})?|\d{1,5}-[.\w!?]{3,5})"
_REST = re.compile(rf"\s{{0,8}}{_ONE}(?: {_ONE}){{0,64}}(?: ?\}}.{{0,80}})?")
_RUNS = re.compile(r"\bCPU: (\d{1,5}) (?:UID: \d{1,10} )?PID: (\d{1,10})\b")
STALLS_RCU = "RCU names it as one that its grace period waits for"
_REPORT_LINES = 300  # from its first to the last of the CPUs that it shows


@dataclass(frozen=True, slots=True)
class Named:
    """A task that RCU names."""

    line: int
    pid: int
    time: Time | None


class StallLines:
    """Collects the tasks of all stall reports of a host; takes no line away."""

    def __init__(self) -> None:
        self._named: list[Named] = []
        self._begun = -_REPORT_LINES
        self._cpus: set[str] = set()

    def line(self, number: int, body: str, stamp: str) -> None:
        """Take the next line; `stamp` has its time."""
        if "detected" in body and _STALL.search(body):
            self._begun, self._cpus = number, set()
            if match := _BRACES.search(body):
                self._listed(number, match[1], stamp)
        elif number - self._begun < _REPORT_LINES:
            self._report(number, body, stamp)

    def _report(self, number: int, body: str, stamp: str) -> None:
        """Take a line behind the first of a report."""
        if match := _NODE.search(body):
            self._name(number, _TASK.findall(match[1]), stamp)
        elif _REST.fullmatch(body):
            self._listed(number, body.partition("}")[0], stamp)
        elif match := _CPU_LINE.match(body):
            self._cpus.add(match[1])
        elif (match := _RUNS.search(body)) and match[1] in self._cpus:
            self._name(number, [match[2]], stamp)

    def _listed(self, number: int, text: str, stamp: str) -> None:
        """Take a list of tasks and CPUs."""
        self._cpus.update(_CPU.findall(text))
        self._name(number, _TASK.findall(text), stamp)

    def _name(self, number: int, pids: list[str], stamp: str) -> None:
        self._named += [Named(number, int(pid), time_of(stamp)) for pid in pids]

    def mark(self, tasks: list[LoggedTask], boots: Boots) -> None:
        """Mark the stacks of these tasks that stood when they were named."""
        named: dict[int, list[Named]] = defaultdict(list)
        for one in self._named:
            named[one.pid].append(one)
        for task in tasks if named else ():
            ones = named.get(task.pid or 0, [])
            at = bisect(ones, task.line, key=lambda one: one.line)
            task.stalls_rcu = any(
                boots.number(task.line) == boots.number(one.line)
                and abs(gap_s(task.time, one.time) or 0) <= boots.window_s
                for one in ones[max(at - 1, 0) : at + 1]
            )
