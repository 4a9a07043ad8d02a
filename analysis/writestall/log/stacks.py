# SPDX-License-Identifier: GPL-2.0-only
"""stacks: read the stacks out of the lines that one task or CPU printed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from writestall.classify.frames import Frame
from writestall.classify.stack import is_sleep, says_who
from writestall.log import asleep, heads, stack_lines, traces
from writestall.log.boots import Boots
from writestall.log.cgroups import Cgroups
from writestall.log.cuts import Edge
from writestall.log.grace_periods import StallLines
from writestall.log.kernel_reports import ReportLines
from writestall.log.lines import Line
from writestall.log.logged import LoggedTask
from writestall.log.near_names import MAX_LABEL_LINES, NearNames
from writestall.log.owners import LockLines
from writestall.log.times import noted, time_of

MAX_FRAMES = 256
# Lines without a frame that do not end a stack: a wrapped module name, <TASK>, a dump
# of raw words.
MAX_GAP = 3
# Parts of frames alone: addresses of PowerPC, registers of 32-bit ARM, the function
# called on a line of which a mailer cut off who called it (arch/arm/kernel/traps.c).
_OF_FRAMES = re.compile(
    r"(?:\[ {0,6}\d{1,8}\.\d{6}\] )?\[[0-9a-f]{16}\] \[[0-9a-f]{16}\]\s{0,4}"
    r"|\s{0,4}(?:r\d{1,2}:[0-9a-f]{8}\s{0,4}){1,8}"
    r"|\[<[0-9a-f]{8}>\] \(\w{1,120}(?: \[\w{1,64}\])?\) from(?: \[<[0-9a-f]{8}>\])?"
)

_TRACE = re.compile(r"\bCall [Tt]race:|\bBacktrace:|^\s*Stack:")
_MODULE = re.compile(r"\s{0,8}\[(?P<module>[a-z]\w{1,63})\]")
_WORKQUEUE = re.compile(r"\bWorkqueue: (?P<work>.{1,120})")
# What every line has that LockLines takes.
_LOCKS = re.compile(
    r"blocked on|locks? held by |, at: |lockdep is turned off|^\s{0,4}#\d{1,3}:(?: |$)"
    r"|^\s{0,4}[GH]: {1,4}s:"
)
# A work's function that a mailer put on a line of its own: `wb_workfn (flush-8:0)`.
_WORK = re.compile(r"\s{0,8}\w{3,64}(?: \[\w{1,64}\])?(?: \([\w:/.+-]{1,64}\))?")
# kernel/sched/wait.c, wait_bit.c: who wakes calls these. A stack that sleeps has
# pointers to them, which old kernels do not mark as doubtful.
_CALLBACKS = frozenset(
    "autoremove_wake_function default_wake_function wake_bit_function "
    "var_wake_function woken_wake_function wake_page_function".split()
)
_SCHEDULE = frozenset(("__schedule", "context_switch", "__switch_to"))


@dataclass(slots=True)
class Host:
    """What the lines of one host say of its tasks, by pid."""

    boots: Boots = field(default_factory=Boots)
    locks: LockLines = field(default_factory=LockLines)
    stalls: StallLines = field(default_factory=StallLines)
    reports: ReportLines = field(default_factory=ReportLines)
    names: dict[int, str] = field(default_factory=dict)
    stuck: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    edge: Edge = field(default_factory=Edge)
    cgroups: Cgroups = field(default_factory=Cgroups)
    # When lines without a time of their own were printed, as far as one before says.
    noted: str = ""


def _last(task: LoggedTask) -> str:
    """The outermost function of a stack so far."""
    return task.frames[-1].symbol


def _is_one_place(task: LoggedTask) -> bool:
    """True for lines that say twice where one function's code is."""
    symbols = {frame.symbol for frame in task.guesses}
    nameless = task.pid is None and task.comm is None
    return nameless and len(task.guesses) > 1 == len(symbols)


def _is_tail(task: LoggedTask) -> bool:
    """True for the end of a stack whose begin is not there."""
    return task.pid is None and all(
        stack_lines.is_bottom(f.symbol) for f in task.guesses
    )


class Reader:
    """The state between the lines of one task or CPU of a host that prints."""

    def __init__(self, host: Host) -> None:
        self.done: list[LoggedTask] = []
        self._host = host
        self._task: LoggedTask | None = None
        self._gap = 0
        self._over = False
        self._names = NearNames(host.names)
        self._cut: tuple[int, str, str] | None = None
        self._work: int | None = None
        # The line before was cut behind its `?`.
        self._guess = False
        # The kernel marks no frame as doubtful.
        self._unmarked = False
        # The line ends where the terminal does.
        self._at_edge = False
        self._head_line = ""
        # The stack so far is one frame in a line of other text.
        self._mentioned = False
        # The stack so far is of lines that only say where code is.
        self._placed = False
        # The stack so far has names without addresses.
        self._of_names = False
        # A stack that other text cut off, of which the rest may come.
        self._rest: LoggedTask | None = None
        # What stands in front of the kernel's words in this line: its time.
        self._stamp = ""
        # How many mails this line was quoted in, and the fewest of the text that cut
        # off the stack before.
        self._quotes = self._reply = 0
        # What the stacks that follow without a head are called, if they are no sleeps.
        self._trace: str | None = None
        self._dumped: int | None = None
        # One bit for each of the last lines, the latest lowest: set for a blank one.
        self._blanks = 0

    def line(self, number: int, line: Line) -> None:
        """Take the next line."""
        body = line.body.rstrip()
        if _OF_FRAMES.fullmatch(body or line.prefix):
            return
        self._stamp = line.before + line.prefix
        self._quotes = line.before.count(">")
        if not line.marked:
            if ":" in body and noted(body):
                self._host.noted = body
            self._stamp = self._host.noted or self._stamp
        self._at_edge = self._host.edge.cuts(line.width)
        if body.strip() == "?":
            self._guess = True
            return
        if self._guess:
            self._guess = False
            body = body if line.marked else f" ? {body.lstrip()}"
        if self._cut:
            first, held, stamp = self._cut
            self._cut = None
            if line.marked:
                now, self._stamp = self._stamp, stamp
                self._take(first, held)
                self._stamp = now
            else:
                number, body = first, f"{held} {body.lstrip()}"
                self._stamp = stamp
        if ("INFO: " in body or "TASK: " in body) and heads.is_cut(body):
            self._cut = number, body, self._stamp
        else:
            self._take(number, body)

    def finish(self) -> list[LoggedTask]:
        """All tasks with a stack, in the order of the lines taken."""
        if self._cut:
            self._take(*self._cut[:2])
        self._close()
        return self.done

    def _take(self, number: int, body: str) -> None:
        # Most lines are a frame and nothing else, and need none of the searches below.
        frame = stack_lines.alone(body) if "+0x" in body else None
        if frame and not self._names.is_due and not self._host.locks.is_cut:
            self._blank(False)
            if not self._over:
                self._of_frames(number, body, [frame])
            return
        if self._blank(not body.strip(" >|\t")):
            return
        if self._beside(number, body) or self._begins_trace(body):
            return
        if self._names.is_due or "/proc/" in body:
            if self._names.completes(body):
                return
            if self._names.of_proc(number, body):
                self._end_before_name()
                return
            body = self._proc(number, body)
        if ("+0x" not in body or "INFO: " in body) and self._head(number, body):
            return
        if self._past_end(number, body):
            return
        self._of_frames(number, body, stack_lines.found(body))

    def _beside(self, number: int, body: str) -> bool:
        """True for a line that says of locks or cgroups what concerns any task."""
        locks, cgroups = self._host.locks, self._host.cgroups
        self._host.stalls.line(number, body, self._stamp)
        if (locks.is_cut or _LOCKS.search(body)) and locks.line(
            number, body, self._stamp
        ):
            self._close()
            return True
        if cgroups.wants(body) and cgroups.line(number, body):
            if self._task and self._task.guesses:
                self._close()
            return True
        return False

    def _begins_trace(self, body: str) -> bool:
        """True for a line that begins traces of no stuck task, or ends all stacks."""
        name = traces.kind(body)
        if name is None and not heads.ends_all(body):
            return False
        self._close()
        self._over, self._rest, self._trace = False, None, name
        return True

    def _of_frames(self, number: int, body: str, frames: list[re.Match[str]]) -> None:
        """Take a line with these frames, or without any."""
        if self._after_blank() and not self._goes_on(body, frames):
            self._interrupt()
        if frames:
            self._frames(number, frames)
        elif self._task and (bare := self._bare(self._task, body)):
            self._frames(number, [bare])
        elif self._task and self._task.frames and (name := _MODULE.fullmatch(body)):
            # Of crash(8), cut by a mailer behind the address.
            last = self._task.frames[-1]
            self._task.frames[-1] = replace(last, module=name["module"])
        elif stack_lines.is_end(body):
            self._close()
        elif self._at_edge and self._task and (cut := stack_lines.cut(body)):
            self._cut_frame(*cut)
        else:
            self._other(number, body)

    def _bare(self, task: LoggedTask, body: str) -> re.Match[str] | None:
        """A function's name alone, as a frame: a stack of names begins in a sleep,
        behind a head, and goes on without another line."""
        if self._gap or self._blanks & 0b10:
            return None
        name = stack_lines.name_alone(body)
        if name and not task.guesses:
            self._of_names = is_sleep(name["symbol"])
        return name if self._of_names else None

    def _blank(self, blank: bool) -> bool:
        # Several blank lines in a row count as one.
        if blank and self._blanks & 1:
            return True
        self._blanks = (self._blanks << 1 | blank) & 0b1111
        if blank and not self._blanks & 0b100:
            self._over = False
        return blank

    def _after_blank(self) -> bool:
        return bool(self._blanks & 0b10 and self._task and self._task.guesses)

    def _goes_on(self, body: str, frames: list[re.Match[str]]) -> bool:
        """True when a stack goes on behind a blank line: every other line is blank, or
        it has a name and a line with nothing but a frame follows."""
        task = self._task
        # arm64 shows __switch_to() before __schedule().
        begun = task and any(f.symbol not in _SCHEDULE for f in task.guesses)
        another = begun and bool(frames) and frames[0]["symbol"] in _SCHEDULE
        if self._blanks & 0b1000:
            return not another
        if not frames or task is None or task.pid is None:
            return False
        begins = body.lstrip().startswith(("[", "?", frames[0]["symbol"]))
        return begins and not another

    # What follows </TASK> without a head is the rest of another stack that was
    # printed at the same time: of no use, for nobody knows whose it is.
    def _past_end(self, number: int, body: str) -> bool:
        if "</TASK>" in body:
            self._close()
            self._over = True
        elif "<TASK>" in body or _TRACE.search(body):
            self._over, self._rest = False, None
            self._dumped = number
        return self._over

    def _close(self) -> None:
        task = self._task
        if (
            task
            and task.guesses
            and not self._mentioned
            and not _is_tail(task)
            and not _is_one_place(task)
        ):
            self.done.append(task)
            if self._unmarked:
                task.frames = asleep.without_leftovers(task.frames)
                task.guesses = [*task.frames]
            if task.trace == traces.PERF:
                self._trace = None
        self._task = None
        self._mentioned = self._placed = self._of_names = False
        self._gap = 0

    def _interrupt(self) -> None:
        """Close a stack that other text cuts off, before the functions all begin in."""
        task = self._task
        self._close()
        kept = task if self.done and self.done[-1] is task else None
        whole = not kept or not kept.frames or stack_lines.is_bottom(_last(kept))
        # An answer may quote a few frames, too.
        if not (kept and self._rest and kept.quotes < self._rest.quotes):
            self._rest = None if whole else kept

    def _is_rest(self, first: re.Match[str]) -> bool:
        """True for the rest of a stack that was cut off: nobody begins to sleep in it.

        Of /proc/PID/stack, which leaves sleeping out, any function may be the first,
        but behind what a mail answers in the midst of a stack it is the rest of that.
        """
        if self._rest is None or first["symbol"] in _SCHEDULE:
            return False
        if self._reply < self._quotes == self._rest.quotes:
            return True
        proc = first.string.lstrip().startswith("[<")
        return not proc and not is_sleep(first["symbol"])

    def _open(self, number: int, head: heads.Head) -> None:
        old = self._task
        # A hung-task line and the task's own line follow each other: one task.
        if (
            old
            and not old.guesses
            and (head.pid is None or old.pid in (None, head.pid))
            and (old.comm is None or not head.comm or old.comm == head.comm)
        ):
            old.comm, old.pid = old.comm or head.comm, old.pid or head.pid
            old.state = old.state or head.state
            old.is_vouched |= head.hung
            old.hung_s = old.hung_s or head.hung_s
            return
        self._close()
        self._over, self._rest, self._trace = False, None, None
        self._task = self._logged(number)
        self._task.is_vouched, self._task.hung_s = head.hung, head.hung_s
        self._task.comm, self._task.pid = head.comm or None, head.pid
        self._task.state = head.state

    def _head(self, number: int, body: str) -> bool:
        """True when the line says whose stack comes next."""
        head = heads.head(body, self._at_edge)
        if head is None:
            return False
        before, self._head_line = self._task, body
        self._unmarked = heads.marks_nothing(body)
        self._open(number, head)
        is_new = head.hung or (head.state == "D" and self._task is not before)
        if head.pid is not None and is_new:
            self._host.stuck.setdefault(head.pid, []).append((number, head.comm))
        return True

    # `cat`, `head -n 99` and `grep ''` of /proc/PID/stack name the file in front.
    def _proc(self, number: int, body: str) -> str:
        found = heads.proc_stack(body)
        if found is None:
            return body
        pid, rest = found
        task = self._task
        # A file's name alone begins its stack anew.
        again = task and task.guesses and "+0x" not in rest
        if task is None or task.pid != pid or again:
            self._close()
            self._open(number, heads.Head("", pid, hung=True))
        return rest

    def _end_before_name(self) -> None:
        """A name for a stack that may follow ends the one before."""
        if self._task and self._task.guesses:
            self._close()
        self._rest = self._trace = None

    def _logged(self, number: int) -> LoggedTask:
        return LoggedTask(number, time=time_of(self._stamp), quotes=self._quotes)

    def _new(self, number: int) -> LoggedTask:
        """A task without a head: named by a line of its own, where one is near."""
        task = self._logged(number)
        self._names.give(number, task)
        return task

    def _rest_or_new(self, number: int, first: re.Match[str]) -> LoggedTask:
        """The task of a frame that none is open for; the rest of one is doubtful."""
        if (task := self._rest) and self._is_rest(first):
            self._rest = None
            self.done = [one for one in self.done if one is not task]
            task.cut = True
            return task
        if task and task.quotes <= self._quotes:
            self._rest = None
        task = self._new(number)
        task.trace = self._trace
        task.is_vouched |= self._trace is None and self._is_of_proc(number, first)
        if task.is_vouched:
            self._names.give_word(number, task)
        nameless = task.pid is None and task.comm is None
        self._mentioned = nameless and stack_lines.is_mention(first)
        return task

    def _is_of_proc(self, number: int, first: re.Match[str]) -> bool:
        """True for the form of /proc/PID/stack: its addresses in brackets, hidden
        since 4.16, and no `Call Trace:` before them."""
        text = first.string.lstrip()
        dumped = self._dumped is not None and number - self._dumped <= MAX_LABEL_LINES
        return text.startswith("[<0>]") or (text.startswith("[<") and not dumped)

    def _begins_another(self, first: re.Match[str]) -> bool:
        """True for the first frame of another stack than the one that is open: it has
        the number 0, or the one before is at its end, for those of /proc run on where
        nobody wrote a name between them, or what chose to wait in that stands there
        again, for who searched a log for one word has those lines alone."""
        task = self._task
        if task is None or not task.frames or stack_lines.is_guess(first):
            return False
        if self._unmarked:
            return False
        if stack_lines.is_innermost(first.string):
            return True
        if first["symbol"] in _SCHEDULE:
            return says_who(task.frames)
        if first["symbol"] == task.frames[0].symbol != _last(task):
            return not any(is_sleep(frame.symbol) for frame in task.frames)
        return self._is_past_bottom(task, first) and task.state is None

    def _is_past_bottom(self, task: LoggedTask, first: re.Match[str]) -> bool:
        """True for a frame behind those that every stack ends in."""
        ended = bool(task.frames) and stack_lines.is_bottom(_last(task))
        return ended and not stack_lines.starts_bottom(first["symbol"])

    def _frames(self, number: int, found: list[re.Match[str]]) -> None:
        if self._begins_another(found[0]):
            self._close()
        if self._mentioned and not stack_lines.is_mention(found[0]):
            self._task = None
        if self._task is None:
            self._task = self._rest_or_new(number, found[0])
        elif self._task.guesses:
            self._mentioned = False
            # The kernel names the next task: up to 2.6.24 this is left over.
            if self._is_past_bottom(self._task, found[0]):
                return
        self._gap, self._reply = 0, self._quotes
        for match in found:
            if len(self._task.guesses) >= MAX_FRAMES:
                return
            self._add(self._task, match)

    def _add(self, task: LoggedTask, match: re.Match[str]) -> None:
        known, guess = stack_lines.frame_of(match), stack_lines.is_guess(match)
        if known.symbol in _CALLBACKS or stack_lines.is_pointer(match, guess):
            return
        if not guess:
            task.frames.append(known)
        task.guesses.append(known)

    def _cut_frame(self, frame: Frame, doubtful: bool) -> None:
        if task := self._task:
            task.frames.append(frame)
            task.guesses.append(frame)
            task.cut |= doubtful

    def _other(self, number: int, body: str) -> None:
        self._reply = min(self._reply, self._quotes)
        if self._names.alone(number, body):
            self._end_before_name()
        task = self._task
        if (not (task and task.guesses) or self._placed) and self._place(number, body):
            return
        if work := _WORKQUEUE.search(body):
            task = self._of_work(number, work["work"])
        if task is None:
            return
        if self._work == number - 1 and _WORK.fullmatch(body):
            task.workqueue = f"{task.workqueue} {body.strip()}"
        if task.guesses and _TRACE.search(body):
            self._close()
            return
        if not task.guesses:
            self._rest_of_head(task, body)
        if task.guesses and (symbol := stack_lines.place(body)) is not None:
            self._inline(task, symbol)
            return
        self._gap += bool(task.guesses)
        if self._gap > MAX_GAP:
            self._interrupt()

    def _rest_of_head(self, task: LoggedTask, body: str) -> None:
        """Take what a mailer has put on a line of its own."""
        self._unmarked |= heads.marks_nothing(body)
        if task.pid is None:
            task.pid = heads.late_pid(body, self._head_line)

    def _of_work(self, number: int, work: str) -> LoggedTask:
        """The worker that runs this work: where the line that names it is missing, it
        is another than the task before."""
        if self._task is None or self._task.guesses:
            self._end_before_name()
            self._task = self._new(number)
        self._task.workqueue, self._work = work, number
        return self._task

    def _place(self, number: int, body: str) -> bool:
        """True for a frame of which the log has only where its code is."""
        symbol = stack_lines.place(body)
        if not symbol:
            return False
        self._gap = 0
        self._mentioned = self._task is None
        self._task = self._task or self._new(number)
        self._task.frames.append(Frame(symbol))
        self._task.guesses.append(self._task.frames[-1])
        self._placed = True
        return True

    # Functions inlined into the last frame are inside it, its own is named last.
    def _inline(self, task: LoggedTask, symbol: str) -> None:
        for frames in (task.frames, task.guesses):
            if symbol and frames and frames[-1].symbol != symbol:
                frames.insert(len(frames) - 1, Frame(symbol, frames[-1].module))
