# SPDX-License-Identifier: GPL-2.0-only
"""reading: turns a pasted kernel log into the stacks of the tasks in it.

Hung-task reports (kernel/hung_task.c), `sysrq w` and `t` (kernel/sched/core.c,
sched_show_task()), /proc/PID/stack, lines of backtrace of any of 2.6.32 to 7.x, with
or without the prefixes of syslog, dmesg or mail, lines wrapped by a mailer included.
Any text is taken: what is no frame and no head of a task is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from writestall.classify.frames import Frame, frame
from writestall.log.owners import Blocker, Held, LockLines, attach

MAX_LINE_CHARS = 4096
MAX_FRAMES = 256
# Lines without a frame that a stack survives: a wrapped module name, <TASK>, a dump of
# raw words.
MAX_GAP = 3


@dataclass(slots=True)
class LoggedTask:
    """One stack of a log. `line` is where it begins, counted from 1.

    `shot` counts the moments the log shows: stacks of one shot stood at once.
    `frames` are innermost first; `guesses` are those and the ones the kernel marked
    with `?`: addresses that lay on the stack and may be left over.
    """

    line: int
    comm: str | None = None
    pid: int | None = None
    state: str | None = None
    workqueue: str | None = None
    frames: list[Frame] = field(default_factory=list)
    guesses: list[Frame] = field(default_factory=list)
    shot: int = 0
    host: str = ""
    blocker: Blocker | None = None
    held: tuple[Held, ...] = ()
    lockdep_off: bool = False


# `symbol+0x1a/0x30 [module 0123abcd]`, `? ` before it where it is a guess. crash(8)
# prints `#1 [ffff...] symbol at ffff... [module]` instead, `bt -s` with `symbol+26`.
# 64-bit PowerPC's first ABI marks code by a dot: `.schedule+0x80/0x7d4`.
_FRAME = re.compile(
    r"(?P<guess>\?\s{1,4})?(?<![\w.$])\.?(?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r"(?:\+0x(?P<offset>[0-9a-f]{1,8})(?:/0x(?P<size>[0-9a-f]{1,8}))?"
    r"(?:\s{1,4}\[(?P<module>[\w-]{1,64})(?:\s[0-9a-f]{8,64})?\])?"
    r"|(?:\+\d{1,8})? at [0-9a-f]{8,16}(?:\s{1,4}\[(?P<module2>[\w-]{1,64})\])?$)",
    re.IGNORECASE,
)
# The same by scripts/decode_stacktrace.sh, `symbol (fs/file.c:12 fs/file.h:3) module`,
# and by syzkaller, which names inlined functions too: `symbol fs/file.c:12 [inline]`.
_DECODED = re.compile(
    r"\s{0,16}(?P<guess>\?\s{1,4})?(?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r"(?: \((?:[\w./+-]{1,120}:\d{1,6}|\?\?:\?).{0,400}\)"
    r"(?: \[?(?P<module>[\w-]{1,64})\]?)?"
    r"| [\w./+-]{1,120}:-?\d{1,6} \[inline\])\s{0,16}$"
)
# Where stacks begin: nothing calls these. arch/x86/entry/entry_64.S,
# arch/arm64/kernel/entry.S, arch/arm/kernel/entry-common.S.
_BOTTOM = re.compile(
    r"ret_from_(?:fork|kernel_thread)\w*|child_rip|kernel_thread_helper"
    r"|entry_SYSCALL_64\w*|system_call_fastpath|el0_sync|el0_svc|el0t_64_sync"
    r"|ret_fast_syscall"
)
# /proc/PID/stack ends so before 5.2: ULONG_MAX (kernel/stacktrace.c).
_END = re.compile(r"\b0xf{8}(?:f{8})?$")
# Lines with symbols that are no frames: registers, locks held (lockdep), faults.
_NO_FRAMES = re.compile(
    r"\b(?:[RE]?IP|PC|LR|pc|lr|epc|NIP) ?(?::|is at)|\bat: |^\s*#\d+:|Code:"
    r"|Modules linked"
)
# What syslog, journald, dmesg and mail put in front.
_PREFIX = re.compile(
    r"[>\s|]{0,16}(?:.{0,160}?\bkernel:)?\s{0,8}(?:<\d{1,3}>)?"
    r"(?:\s{0,8}\[[ \d.:a-zA-Z+-]{1,32}\]){0,3}\s{0,8}"
)
_HUNG = re.compile(
    r"INFO: task (?P<comm>.{1,32}):(?P<pid>\d{1,10}) (?:<writer> )?blocked"
)
_SHOWN = re.compile(r"\btask:(?P<comm>.{1,20}?)\s{1,16}state:(?P<state>[A-Za-z])\b")
# Free stack of four or five digits (CONFIG_DEBUG_STACK_USAGE) leaves no space for one.
_SHOWN_OLD = re.compile(
    r"^(?P<comm>\S.{0,19}?)\s{1,16}(?P<state>[RSDTtXZPIKWN])"
    r"(?:(?: \s{0,16}[0-9a-f]{8,16}\b|  running)?\s{1,16}\d{1,7}\s{1,12}"
    r"(?P<pid>\d{1,10})\s{1,12}\d{1,10}\b"
    r"|\d{1,7}\s{1,12}(?P<pid2>\d{1,10})\s{1,12}\d{1,10} 0x)"
)
# The same, cut by a mailer behind the state.
_SHOWN_CUT = re.compile(r"^(?P<comm>\S.{0,19}?)\s{2,16}D$")
_PID = re.compile(r"\bpid:\s{0,8}(?P<pid>\d{1,10})")
_PID_CUT = re.compile(
    r"[0-9a-f]{8,16}\s{1,16}\d{1,7}\s{1,12}(?P<pid>\d{1,10})\s{1,12}\d{1,10}\s{1,8}0x"
)
_PROC = re.compile(r"/proc/(?P<pid>\d{1,10})(?:/task/(?P<tid>\d{1,10}))?/stack")
_CRASH = re.compile(r"^PID: (?P<pid>\d+).{0,80}COMMAND: \"(?P<comm>[^\"]{1,20})\"")
_CPU = re.compile(
    r"\bP(?:ID|id): (?P<pid>\d{1,10}),? (?:UID: \d{1,10} )?[Cc]omm: (?P<comm>\S{1,20})"
)
_WORKQUEUE = re.compile(r"\bWorkqueue: (?P<work>.{1,120})")
# `sysrq w` and `t` begin a new picture of the whole machine.
_NEW_SHOT = re.compile(r"Show (?:Blocked )?State\b", re.IGNORECASE)
# CONFIG_PRINTK_CALLER tells lines of two CPUs apart that print at once.
_CALLER = re.compile(r"\]\[\s{0,8}(?P<caller>[TC]\d{1,10})\]")
_TRACE = re.compile(r"\bCall [Tt]race:|\bBacktrace:|^\s*Stack:")


def _found(body: str) -> list[re.Match[str]]:
    """The frames of a line."""
    if _NO_FRAMES.search(body):
        return []
    if match := _DECODED.match(body):
        return [match]
    return list(_FRAME.finditer(body))


def _is_pointer(match: re.Match[str]) -> bool:
    """True for a guess that is no return address but a pointer to a function.

    Nothing returns to a function's first byte: it is the callback of a wait, mostly. It
    is printed as `f+0x0`, since 2.6.39 as the end of the function before it, as in
    `e+0x70/0x70` (Documentation/core-api/printk-formats.rst, %pB).
    """
    told = match.groupdict()
    offset, size = told.get("offset"), told.get("size")
    return offset is not None and int(offset, 16) in (0, int(size or "0", 16))


class _Reader:
    """The state between lines: the task whose stack is being read, if any."""

    def __init__(self) -> None:
        self.done: list[LoggedTask] = []
        self._task: LoggedTask | None = None
        self._gap = 0
        self._over = False
        self.locks = LockLines()

    def finish(self) -> list[LoggedTask]:
        """All tasks with a stack, in the log's order."""
        self._close()
        return self.done

    def line(self, number: int, raw: str) -> None:
        """Takes the next line."""
        text = raw.rstrip()
        prefix = _PREFIX.match(text)
        body = text[prefix.end() :] if prefix else text
        if self.locks.line(number, body):
            self._close()
            return
        if self._head(number, body) or self._past_end(body):
            return
        body = self._proc(number, body)
        frames = _found(body)
        if frames:
            self._frames(number, frames)
        elif _END.search(body):
            self._close()
        elif not text.strip(" >|\t"):
            self._blank()
        else:
            self._other(body)

    # What follows </TASK> without a head is the rest of another stack that was
    # printed at the same time: of no use, for nobody knows whose it is.
    def _past_end(self, body: str) -> bool:
        if "</TASK>" in body:
            self._close()
            self._over = True
        elif "<TASK>" in body or _TRACE.search(body) or not body.strip():
            self._over = False
        return self._over

    def _close(self) -> None:
        if self._task and self._task.guesses:
            self.done.append(self._task)
        self._task = None
        self._gap = 0

    def _open(
        self, number: int, comm: str | None, pid: int | None, state: str | None = None
    ) -> None:
        old = self._task
        # A hung-task line and the task's own line follow each other: one task.
        if (
            old
            and not old.guesses
            and (pid is None or old.pid in (None, pid))
            and (old.comm is None or comm is None or old.comm == comm)
        ):
            old.comm, old.pid = old.comm or comm, old.pid or pid
            old.state = old.state or state
            return
        self._close()
        self._over = False
        self._task = LoggedTask(number, comm, pid, state)

    def _head(self, number: int, body: str) -> bool:
        """True when the line says whose stack comes next."""
        for pattern in (_HUNG, _SHOWN, _SHOWN_OLD, _SHOWN_CUT, _CRASH, _CPU):
            match = pattern.search(body)
            if match:
                told = match.groupdict()
                pid, state = told.get("pid") or told.get("pid2"), told.get("state")
                if pid is None and (more := _PID.search(body, match.end())):
                    pid = more["pid"]
                self._open(
                    number, match["comm"].strip(), int(pid) if pid else None, state
                )
                return True
        return False

    # `cat`, `head -n 99` and `grep ''` of /proc/PID/stack name the file in front.
    def _proc(self, number: int, body: str) -> str:
        match = _PROC.search(body)
        if not match:
            return body
        pid = int(match["tid"] or match["pid"])
        if self._task is None or self._task.pid != pid:
            self._close()
            self._open(number, None, pid)
        return body[match.end() :]

    def _frames(self, number: int, found: list[re.Match[str]]) -> None:
        # Stacks of /proc run on where nobody wrote a name between them.
        if self._task and self._task.frames and not found[0]["guess"]:
            last = self._task.frames[-1].symbol
            if _BOTTOM.fullmatch(last) and not _BOTTOM.match(found[0]["symbol"]):
                self._close()
        if self._task is None:
            self._task = LoggedTask(number)
        self._gap = 0
        for match in found:
            if len(self._task.guesses) >= MAX_FRAMES:
                return
            told = match.groupdict()
            known = frame(match["symbol"], told["module"] or told.get("module2"))
            if not match["guess"]:
                self._task.frames.append(known)
            elif _is_pointer(match):
                continue
            self._task.guesses.append(known)

    def _blank(self) -> None:
        if self._task and self._task.guesses:
            self._close()

    def _other(self, body: str) -> None:
        task = self._task
        if task is None:
            return
        if match := _WORKQUEUE.search(body):
            task.workqueue = match["work"]
        if task.guesses and _TRACE.search(body):
            self._close()
            return
        if task.pid is None and not task.guesses:
            match = _PID.search(body) or _PID_CUT.match(body)
            task.pid = int(match["pid"]) if match else None
        self._gap += bool(task.guesses)
        if self._gap > MAX_GAP:
            self._close()


def read_log(lines: Iterable[str]) -> list[LoggedTask]:
    """Every stack in a log, in its order; none where there is none."""
    readers: dict[str, _Reader] = {}
    shots = []
    for number, line in enumerate(lines, 1):
        head = line[:MAX_LINE_CHARS]
        caller = _CALLER.search(head)
        key = caller["caller"] if caller else ""
        readers.setdefault(key, _Reader()).line(number, head)
        if _NEW_SHOT.search(head):
            shots.append(number)
    tasks = [task for reader in readers.values() for task in reader.finish()]
    tasks.sort(key=lambda task: task.line)
    shown: set[int] = set()
    for reader in readers.values():
        shown |= attach(tasks, reader.locks, LoggedTask)
    _number_shots(tasks, shots, shown)
    return tasks


def _number_shots(
    tasks: list[LoggedTask], marks: list[int], shown: Iterable[int] = ()
) -> None:
    """A mark begins a new shot, and so does a task that was in this one already,
    unless the kernel shows it once more as an owner."""
    shot = at = 0
    seen: set[int] = set()
    for task in tasks:
        marked = at
        while at < len(marks) and marks[at] <= task.line:
            at += 1
        if at > marked or (task.pid in seen and task.line not in shown):
            shot += 1
            seen.clear()
        if task.pid is not None:
            seen.add(task.pid)
        task.shot = shot
