# SPDX-License-Identifier: GPL-2.0-only
"""cgroups: read which cgroup a task is in, where a log says so.

Reports of hung tasks and sysrq do not name it (kernel/hung_task.c, kernel/sched/core.c
sched_show_task()). The OOM killer does for the task it kills (mm/oom_kill.c
dump_oom_victim(), mm/memcontrol.c mem_cgroup_print_oom_context()), and so do people who
print /proc/PID/cgroup beside /proc/PID/stack (cgroups(7)).
"""

from __future__ import annotations

import re
from bisect import bisect_right

_OOM = re.compile(
    r",task_memcg=(?P<path>/[^,]{0,400}),task=.{1,32}?,pid=(?P<pid>\d{1,10}),uid="
)
_PROC = re.compile(
    r"/proc/(?P<pid>\d{1,10})(?:/task/(?P<tid>\d{1,10}))?/cgroup\b[\s:=<>]{0,16}(?P<rest>.*)"
)
# `0::/system.slice/a.service`, of version 1 `4:blkio:/docker/b`.
_ENTRY = re.compile(r"\s{0,8}\d{1,3}:(?P<by>[\w,=-]{0,120}):(?P<path>/.{0,400})")
# Which hierarchy's path is shown: the one that limits I/O, then memory.
_ORDER = ("blkio", "", "memory")


class Cgroups:
    """The cgroups of one host's tasks."""

    def __init__(self) -> None:
        # By pid: the line, how near to I/O the hierarchy is, and the path.
        self._said: dict[int, list[tuple[int, int, str]]] = {}
        self._pid: int | None = None

    def line(self, number: int, body: str) -> bool:
        """True for a line about cgroups, and nothing else."""
        if match := _OOM.search(body):
            self._keep(number, int(match["pid"]), "memory", match["path"])
            return True
        if match := _PROC.search(body):
            self._pid = int(match["tid"] or match["pid"])
            self._entry(number, match["rest"])
            return True
        return self._entry(number, body)

    def wants(self, body: str) -> bool:
        """True when a line may be one of those."""
        return self._pid is not None or "/cgroup" in body or ",task_memcg=" in body

    def _entry(self, number: int, body: str) -> bool:
        match = _ENTRY.fullmatch(body)
        if match and self._pid is not None:
            for by in match["by"].split(","):
                self._keep(number, self._pid, by, match["path"].rstrip())
        elif body.strip():
            self._pid = None
        return match is not None

    def _keep(self, number: int, pid: int, by: str, path: str) -> None:
        if by in _ORDER:
            entry = number, _ORDER.index(by), path
            self._said.setdefault(pid, []).append(entry)

    def of(self, pid: int, line: int, boots: list[int]) -> str | None:
        """The cgroup of a task whose stack is at a line, said in the same boot."""
        boot = bisect_right(boots, line)
        near = [
            (rank, abs(number - line), path)
            for number, rank, path in self._said.get(pid, ())
            if bisect_right(boots, number) == boot
        ]
        return min(near)[2] if near else None
