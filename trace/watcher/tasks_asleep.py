# SPDX-License-Identifier: GPL-2.0-only
"""tasks_asleep: find the calls that sleep and do not end, by /proc.

/proc does not tell one call from the next with the same arguments. A call that stalled
and ended is known by its event; one that ended sooner has slept at least once. So a
call is as old as it is at least: since the last event of its task, less the time of a
stall for each sleep since.

A thread of its own looks at the states of all threads of the host. Its reads may wait
for a task that executes a program (fs/proc/base.c, lock_trace()): nothing else waits
for this thread. It takes at most a fiftieth of a CPU: it looks as seldom as that takes.
"""

from __future__ import annotations

import argparse
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from foreign import files
from launcher import calls
from launcher.options import device_number
from recorder.files import ROOT
from recorder.filesystems import mount_of
from writestall.events.contract import Write
from writestall.watch.open_stalls import S, Sleeping

FIRST_SHOWN_NS = 2 * S
# How often it looks, while tasks wait for I/O and while none does; and the share of a
# CPU that looking may take.
BUSY_S, IDLE_S, MOST_SHARE = 0.5, 2.0, 0.02
MOST_TASKS, MOST_FRAMES = 200, 48
MOST_ENDED = 10_000  # events kept while a look waits
MOST_ABOVE = 64  # processes from one to the first
BY_NUMBER = {nr: name for nr, name in calls.NAMES.items() if nr < 1000}
SLEEPS = re.compile(r"^voluntary_ctxt_switches:\t(\d+)$", re.MULTILINE)
# proc_pid_syscall(5): a number and arguments; else `running`, or nothing.
CALLING, NO_CALL = re.compile(r"-?\d+( 0x[0-9a-f]+)+$"), "-1"
FAULT, IN_A_FAULT = "page_fault", "handle_mm_fault"
Task = tuple[int, int]  # thread id, and when it was started in ticks


@dataclass(frozen=True)
class Chosen:
    """Which calls were asked for; None where that does not matter.

    The tracer chooses by the same options; this is for calls without an event yet.
    """

    pid: int | None = None
    comm: str | None = None
    path: str | None = None
    dev: str | None = None

    @staticmethod
    def by(options: argparse.Namespace) -> Chosen:
        """The choice of the options; raises TraceError for a device there is not."""
        path = str(options.path.resolve()) if options.path else None
        dev = None
        if options.device is not None:
            number = device_number(options.device)
            dev = f"{number >> 20}:{number & 0xFFFFF}"
        return Chosen(options.pid, options.comm, path, dev)

    def __call__(self, pid: int, comm: str, file: str | None) -> bool:
        """Whether a call is chosen; not without a known file, where that counts."""
        if pid == os.getpid():
            return False
        if self.pid is not None and not self._below(pid):
            return False
        if self.comm is not None and self.comm not in (comm, files.text(pid, "comm")):
            return False
        if self.path is not None and not self._inside(file):
            return False
        return self.dev is None or self._on_device(file)

    def _below(self, pid: int) -> bool:
        """Whether a process is the chosen one or was started by it."""
        for _ in range(MOST_ABOVE):
            if pid == self.pid or pid <= 1:
                break
            _, fields = files.stat(pid)
            pid = int(fields[files.PARENT]) if fields else 0
        return pid == self.pid

    def _inside(self, file: str | None) -> bool:
        return file is not None and (
            file == self.path or file.startswith(f"{self.path}/")
        )

    def _on_device(self, file: str | None) -> bool:
        mount = mount_of(Path(file)) if file and file.startswith("/") else None
        return mount is not None and mount.dev == self.dev


@dataclass(frozen=True, slots=True)
class _Asleep:
    """A task in state D; `kernels`: it is a thread of the kernel."""

    pid: int
    tid: int
    comm: str
    started: int
    kernels: bool


@dataclass(slots=True)
class _Call:
    """A call that sleeps, as it was seen so far; `file` is its path, where known."""

    what: str
    name: str
    file: str | None
    watched: bool
    since_ns: int
    sleeps: int
    shown_after_ns: int = FIRST_SHOWN_NS
    missed: int = 0

    def ended(self, at_ns: int) -> None:
        """A call of the task has ended: this is a later one."""
        if at_ns > self.since_ns:
            self.since_ns, self.shown_after_ns = at_ns, FIRST_SHOWN_NS

    def sleeps_again(self, sleeps: int, stall_ns: int, now_ns: int) -> None:
        """Each sleep may have been the end of a call too short for an event."""
        least_ns = self.since_ns + stall_ns * (sleeps - self.sleeps)
        self.since_ns, self.sleeps = min(least_ns, now_ns), sleeps


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look found: calls that last for 2 s and more, and whom to show now."""

    at_ns: int
    open: int = 0
    longest_ns: int = 0
    oldest_ns: int | None = None
    shown: tuple[int, ...] = ()
    tasks: tuple[Sleeping, ...] = ()


class TasksAsleep(threading.Thread):
    """The thread; `taken` hears what each look found.

    chosen    whether a call of a process, of a thread's name and on a file is watched
    stall_ns  how long a call sleeps at least that the tracer tells of
    """

    def __init__(
        self,
        taken: Callable[[Seen], None],
        chosen: Callable[[int, str, str | None], bool],
        stall_ns: int,
        root: Path = ROOT,
    ) -> None:
        super().__init__(name="tasks-asleep", daemon=True)
        self._taken, self._chosen, self._stall_ns = taken, chosen, stall_ns
        self._proc = str(root / "proc")
        self._ended: deque[tuple[int, int]] = deque(maxlen=MOST_ENDED)
        self._calls: dict[Task, _Call] = {}
        self._ending = threading.Event()

    def heard(self, write: Write) -> None:
        """Take the event of a call that has ended, from another thread."""
        self._ended.append((write.tid, write.t_ns + write.dur_ns))

    def end(self) -> None:
        """Let the thread end; it may be in a read that takes long."""
        self._ending.set()

    def run(self) -> None:
        pause_s = IDLE_S
        while not self._ending.wait(pause_s):
            before_s = time.thread_time()
            self._taken(self.look(time.monotonic_ns()))
            cost_s = time.thread_time() - before_s
            quick_s = BUSY_S if self._calls or _io_pressure(self._proc) else IDLE_S
            pause_s = max(quick_s, cost_s / MOST_SHARE)

    def look(self, now_ns: int) -> Seen:
        """Look at all tasks once."""
        asleep = list(self._asleep())
        self._end_calls()
        for call in self._calls.values():
            call.missed += 1
        for one in asleep:
            if not one.kernels:
                self._note(one, now_ns)
        # A task between two sleeps of a call may be met awake once.
        self._calls = {k: call for k, call in self._calls.items() if call.missed < 2}
        watched = {k: call for k, call in self._calls.items() if call.watched}
        old = {
            task: call
            for task, call in watched.items()
            if now_ns - call.since_ns >= FIRST_SHOWN_NS
        }
        due = [task[0] for task, call in old.items() if _is_due(call, now_ns)]
        tasks = tuple(self._sleepings(asleep, due)) if due else ()
        there = {task.tid for task in tasks}
        return Seen(
            now_ns,
            len(old),
            max((now_ns - call.since_ns for call in old.values()), default=0),
            min((call.since_ns for call in watched.values()), default=None),
            tuple(tid for tid in due if tid in there),
            tasks,
        )

    def _note(self, one: _Asleep, now_ns: int) -> None:
        """Follow a call of the table, or a fault."""
        task = one.tid, one.started
        what, sleeps = self._text(one, "syscall"), self._sleeps(one)
        known = self._calls.get(task)
        if known is not None and known.what == what:
            known.missed = 0
            known.sleeps_again(sleeps, self._stall_ns, now_ns)
        elif found := self._call(one, what):
            watched = self._chosen(one.pid, one.comm, found[1])
            self._calls[task] = _Call(what, *found, watched, now_ns, sleeps)

    def _end_calls(self) -> None:
        """Take what has ended since the last look."""
        ended = dict(self._ended.popleft() for _ in range(len(self._ended)))
        for (tid, _), call in self._calls.items():
            call.ended(ended.get(tid, 0))

    def _asleep(self) -> Iterator[_Asleep]:
        """Tasks in state D."""
        for name in filter(str.isdigit, files.entries(self._proc)):
            for tid, comm, fields in self._threads(name):
                if fields and fields[files.STATE] == b"D":
                    kernels = bool(int(fields[files.FLAGS]) & files.PF_KTHREAD)
                    started = int(fields[files.STARTED])
                    yield _Asleep(int(name), int(tid), comm, started, kernels)

    def _threads(self, pid: str) -> Iterator[tuple[str, str, list[bytes]]]:
        comm, fields = files.stat(pid, self._proc)
        if not fields or fields[files.THREADS] == b"1":
            yield pid, comm, fields
            return
        for tid in files.entries(f"{self._proc}/{pid}/task"):
            yield tid, *files.stat(f"{pid}/task/{tid}", self._proc)

    def _text(self, one: _Asleep, name: str) -> str:
        path = f"{self._proc}/{one.pid}/task/{one.tid}/{name}"
        return files.raw(path).decode(errors="replace")

    def _sleeps(self, one: _Asleep) -> int:
        """How often the task has gone to sleep: proc_pid_status(5)."""
        found = SLEEPS.search(self._text(one, "status"))
        return int(found[1]) if found else 0

    def _stack(self, one: _Asleep) -> tuple[str, ...]:
        return tuple(self._text(one, "stack").splitlines()[:MOST_FRAMES])

    def _sleepings(self, asleep: list[_Asleep], due: list[int]) -> Iterator[Sleeping]:
        """The tasks with what /proc shows of each, those that are due first."""
        asleep.sort(key=lambda one: one.tid not in due)
        for one in asleep[:MOST_TASKS]:
            call = self._calls.get((one.tid, one.started))
            yield Sleeping(
                one.tid,
                one.comm,
                call.since_ns if call else 0,
                call.name if call else None,
                _last_two(call.file) if call else None,
                self._cgroup(one),
                self._stack(one),
                self._text(one, "wchan"),
            )

    def _call(self, one: _Asleep, what: str) -> tuple[str, str | None] | None:
        """The name and the file of a call, by proc_pid_syscall(5); None for others."""
        if not CALLING.match(what):
            return None
        words = what.split()
        if words[0] == NO_CALL:
            inside = any(f" {IN_A_FAULT}+" in line for line in self._stack(one))
            return (FAULT, None) if inside else None
        name = BY_NUMBER.get(int(words[0]))
        if name is None:
            return None
        place = calls.CALLS[name].get("fd")
        if place is None or len(words) <= place:
            return name, None
        descriptor = int(words[place], 16) & 0xFFFFFFFF
        return name, files.link(one.pid, f"fd/{descriptor}", self._proc)

    def _cgroup(self, one: _Asleep) -> str:
        lines = self._text(one, "cgroup").splitlines()
        return next((line[3:] for line in lines if line.startswith("0::")), "")


def _is_due(call: _Call, now_ns: int) -> bool:
    """Whether it is to be shown now: after 2 s, 4 s, 8 s and so on."""
    age_ns = now_ns - call.since_ns
    if age_ns < call.shown_after_ns:
        return False
    while age_ns >= call.shown_after_ns:
        call.shown_after_ns *= 2
    return True


def _last_two(path: str | None) -> str | None:
    """A file with its folder, as events have it."""
    return "/".join(path.rsplit("/", 2)[-2:]) if path else None


def _io_pressure(proc: str) -> bool:
    """Whether some task has waited for I/O lately, as far as the kernel says."""
    text = files.raw(f"{proc}/pressure/io")
    return not text.startswith(b"some avg10=0.00 ") if text else True
