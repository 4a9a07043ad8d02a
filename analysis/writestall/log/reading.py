# SPDX-License-Identifier: GPL-2.0-only
"""reading: read the stacks of tasks out of a kernel log.

Hung-task reports (kernel/hung_task.c), `sysrq w` and `t` (kernel/sched/core.c,
sched_show_task()), /proc/PID/stack and backtraces, of any kernel from 2.6.32 to 7.x.
Any text is taken: what is no frame and no head of a task is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from writestall.common.compressed import DamagedError
from writestall.log import decoding, shots, unreadable
from writestall.log.attached import attach
from writestall.log.broken_lines import whole
from writestall.log.direction import Votes
from writestall.log.kernel_reports import Report
from writestall.log.lines import Line, of_another_program, prompt_host
from writestall.log.logged import LoggedTask as LoggedTask
from writestall.log.near_stacks import near_stacks
from writestall.log.stacks import Host, Reader
from writestall.log.wrappings import MAX_LINE_CHARS as MAX_LINE_CHARS
from writestall.log.wrappings import Row, unwrapped

# Lines read before the direction of a log is decided.
MAX_UNDECIDED = 20_000


@dataclass(frozen=True, slots=True)
class Unshown:
    """A task that the kernel reports as hung, and whose stack is not in the log."""

    line: int
    host: str
    comm: str
    pid: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Log:
    """All that was read. `unreadable` names what the text is, if it is no log;
    `damaged` says why it could not be read to its end, `reports` what the kernel
    reported besides."""

    tasks: list[LoggedTask]
    unshown: list[Unshown]
    newest_first: bool = False
    unreadable: str | None = None
    damaged: str | None = None
    reports: list[Report] = field(default_factory=list)


class _Log:
    """The readers of a log, one for each host and each task or CPU that prints."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}
        self._readers: dict[tuple[str, str], Reader] = {}
        self._last = ("", "")
        # The hosts that prompts name; the first is also that of lines without a prompt.
        self._prompts: dict[str, str] = {}
        self._at = ""

    def take(self, row: tuple[int, Line]) -> None:
        """Take the next line, in the order of time."""
        number, line = row
        if self._last[0] and of_another_program(line):
            return  # of a host's syslog: no part of the kernel's stacks
        if not line.marked and (name := prompt_host(line.body)):
            self._at = self._prompts.setdefault(name, name if self._prompts else "")
            self._last = self._at, ""
        key = line.host or self._at, line.caller
        if not line.marked and not line.host:
            key = self._last
        self._last = key
        if key[0] not in self._hosts:
            self._hosts[key[0]] = Host()
        if key not in self._readers:
            self._readers[key] = Reader(self._hosts[key[0]])
        self._readers[key].line(number, line)
        host = self._hosts[key[0]]
        stamp, boot = line.before + line.prefix, len(host.boots.starts)
        host.reports.line(number, line.body, stamp, boot)
        host.boots.line(number, line)

    def tasks(self) -> list[LoggedTask]:
        """Every stack, in the order of time."""
        if len(self._prompts) > 1:
            self._rename(next(iter(self._prompts)))
        found: dict[str, list[LoggedTask]] = {host: [] for host in self._hosts}
        for (host, _), reader in self._readers.items():
            found[host] += reader.finish()
        shown: set[int] = set()
        for name, tasks in found.items():
            said = self._hosts[name]
            tasks.sort(key=lambda task: task.line)
            for task in tasks:
                task.host = name
                if task.pid is not None:
                    boots = said.boots.starts
                    said.names.setdefault(task.pid, task.comm or "")
                    task.comm = task.comm or said.names[task.pid] or None
                    task.cgroup = said.cgroups.of(task.pid, task.line, boots)
            shown |= attach(tasks, said.locks, said.boots)
            said.stalls.mark(tasks, said.boots)
        every = sorted(chain(*found.values()), key=lambda task: task.line)
        boots_of = {name: host.boots for name, host in self._hosts.items()}
        shots.number(every, boots_of, shown)
        return _once(every)

    def _rename(self, host: str) -> None:
        """Give the lines of no named host to this one."""
        if host not in self._hosts and "" in self._hosts:
            self._hosts[host] = self._hosts.pop("")
            for key in [key for key in self._readers if not key[0]]:
                self._readers[host, key[1]] = self._readers.pop(key)

    def unshown(self, tasks: list[LoggedTask]) -> list[Unshown]:
        """Tasks that hang by the kernel's word, of which there is no stack."""
        shown = {
            (task.host, task.pid) for task in tasks if task.guesses or task.blocker
        }
        return [
            Unshown(abs(seen[0][0]), name, seen[0][1], pid, len(seen))
            for name, host in self._hosts.items()
            for pid, seen in host.stuck.items()
            if (name, pid) not in shown
        ]

    def reports(self, tasks: list[LoggedTask]) -> list[Report]:
        """What was reported near these tasks, in the order of the lines."""
        of_host: dict[str, list[LoggedTask]] = {name: [] for name in self._hosts}
        for task in tasks:
            of_host[task.host].append(task)
        found = [
            replace(one, host=name)
            for name, near in of_host.items()
            for one in self._hosts[name].reports.near(near, self._hosts[name].boots)
        ]
        return sorted(found, key=lambda one: one.line)


def read_log(lines: Iterable[str]) -> list[LoggedTask]:
    """Every stack in the lines of a log, in the order of time."""
    rows = ((at, "", line[:MAX_LINE_CHARS]) for at, line in enumerate(lines, 1))
    return _read(rows).tasks


def read(chunks: Iterable[bytes]) -> Log:
    """Every stack in the bytes of a log, in whatever they are wrapped."""
    sample, cut = unreadable.Sample(), _Cut()
    numbered = near_stacks(sample.of(decoding.text(cut.of(chunks))))
    texts = ((number, raw.decode("utf-8", "replace")) for number, raw in numbered)
    log = _read(unwrapped(texts))
    log = replace(log, damaged=cut.why)
    if log.tasks:
        return log
    return replace(log, unreadable=unreadable.kind(sample.text))


class _Cut:
    """Pieces of a log up to where its compressed data is damaged; `why` says how."""

    def __init__(self) -> None:
        self.why: str | None = None

    def of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same pieces."""
        try:
            yield from chunks
        except DamagedError as error:
            self.why = str(error)


def _read(rows: Iterable[Row]) -> Log:
    lines = whole(rows)
    begin, votes = _undecided(lines)
    log = _Log()
    if votes.newest_first:
        # Lines are counted from the end: numbers rise with time, below 0.
        turned = [*begin, *lines][::-1]
        begin = [(-number, line) for number, line in turned]
    for row in chain(begin, lines):
        log.take(row)
    tasks = log.tasks()
    reports = log.reports(tasks)
    for task in tasks:
        task.line = abs(task.line)
    for report in reports:
        report.line = abs(report.line)
    unshown = log.unshown(tasks)
    return Log(tasks, unshown, votes.newest_first, reports=reports)


def _undecided(
    lines: Iterator[tuple[int, Line]],
) -> tuple[list[tuple[int, Line]], Votes]:
    """The lines until it is clear which way they stand."""
    votes, taken = Votes(), []
    for number, line in islice(lines, MAX_UNDECIDED):
        taken.append((number, line))
        votes.line(f"{line.host} {line.caller}", line.body)
        if votes.decided:
            break
    return taken, votes


def _once(tasks: list[LoggedTask]) -> list[LoggedTask]:
    """The same tasks; of stacks without a pid that are alike, the first."""
    kept: dict[object, LoggedTask] = {}
    for at, task in enumerate(tasks):
        key: object = at
        if task.pid is None:
            key = (task.host, task.comm, task.state, tuple(task.guesses))
        if key in kept:
            kept[key].times += 1
        else:
            kept[key] = task
    return list(kept.values())
