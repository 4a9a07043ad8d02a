# SPDX-License-Identifier: GPL-2.0-only
"""reading: read the stacks of tasks out of a kernel log.

Hung-task reports (kernel/hung_task.c), `sysrq w` and `t` (kernel/sched/core.c,
sched_show_task()), /proc/PID/stack and backtraces, of any kernel from 2.6.32 to 7.x.
Any text is taken: what is no frame and no head of a task is passed over.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from writestall.classify.frames import Frame
from writestall.common.compressed import DamagedError
from writestall.log import decoding, heads, stack_lines, unreadable
from writestall.log.direction import Votes
from writestall.log.lines import Line, split
from writestall.log.near_stacks import near_stacks
from writestall.log.wrappings import MAX_LINE_CHARS, Row, unwrapped

MAX_FRAMES = 256
# Lines without a frame that do not end a stack: a wrapped module name, <TASK>, a dump
# of raw words.
MAX_GAP = 3
# Lines between a task's name and its stack, where a script printed both.
MAX_LABEL_LINES = 3
# Lines read before the direction of a log is decided.
MAX_UNDECIDED = 20_000


@dataclass(slots=True)
class LoggedTask:
    """One stack of a log. `line` is where it begins, counted from 1.

    `shot` counts the moments the log shows: stacks of one shot stood at once, and
    stacks of two hosts never share one. `frames` are innermost first; `guesses` are
    those and the ones the kernel marked with `?`: addresses that lay on the stack and
    may be left over. `likely_owner`, with `owner_comm` and `lock`, is the task that
    the kernel names as the owner of the lock waited for. `times`: how often the same
    stack, without a pid, is in the log.
    """

    line: int
    comm: str | None = None
    pid: int | None = None
    state: str | None = None
    workqueue: str | None = None
    frames: list[Frame] = field(default_factory=list)
    guesses: list[Frame] = field(default_factory=list)
    likely_owner: int | None = None
    owner_comm: str | None = None
    lock: str | None = None
    shot: int = 0
    host: str = ""
    times: int = 1


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
    `damaged` tells why it could not be read to its end."""

    tasks: list[LoggedTask]
    unshown: list[Unshown]
    newest_first: bool = False
    unreadable: str | None = None
    damaged: str | None = None


# `sysrq w` and `t` begin a new picture of the whole machine, and so does a boot.
_NEW_SHOT = re.compile(
    r"[Ss]how (?:[Bb]locked )?[Ss]tate\b|\bLinux version \d|-- (?:Reboot|Boot|boot)\b"
)
_TRACE = re.compile(r"\bCall [Tt]race:|\bBacktrace:|^\s*Stack:")
_WORKQUEUE = re.compile(r"\bWorkqueue: (?P<work>.{1,120})")
_WORD = re.compile(r"\s{0,8}(?P<comm>[A-Za-z(\[][^\s]{0,63})\s{0,8}")
_SCHEDULE = frozenset(("__schedule", "context_switch", "__switch_to"))


@dataclass(slots=True)
class _Host:
    """What the lines of one host say of its tasks, by pid."""

    owners: dict[int, heads.Owner] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    stuck: dict[int, list[tuple[int, str]]] = field(default_factory=dict)


class _Reader:
    """The state between the lines of one task or CPU of a host that prints."""

    def __init__(self, host: _Host) -> None:
        self.done: list[LoggedTask] = []
        self._host = host
        self._task: LoggedTask | None = None
        self._gap = 0
        self._over = False
        self._label: tuple[int, heads.Name] | None = None
        self._cut: tuple[int, str] | None = None
        self._unnamed: int | None = None
        # One bit for each of the last lines, the latest lowest: set for a blank one.
        self._blanks = 0

    def line(self, number: int, line: Line) -> None:
        """Take the next line."""
        body = line.body.rstrip()
        if self._cut:
            first, held = self._cut
            self._cut = None
            if line.marked:
                self._take(first, held)
            else:
                number, body = first, f"{held} {body.lstrip()}"
        if "INFO: " in body and heads.is_cut(body):
            self._cut = number, body
        else:
            self._take(number, body)

    def finish(self) -> list[LoggedTask]:
        """All tasks with a stack, in the order of the lines taken."""
        if self._cut:
            self._take(*self._cut)
        self._close()
        return self.done

    def _take(self, number: int, body: str) -> None:
        if self._blank(not body.strip(" >|\t")):
            return
        if self._unnamed is not None or "/proc/" in body:
            if self._named(number, body):
                return
            body = self._proc(number, body)
        if ("+0x" not in body or "INFO: " in body) and self._head(number, body):
            return
        if self._past_end(body):
            return
        frames = stack_lines.found(body)
        if self._after_blank() and not self._goes_on(body, frames):
            self._close()
        if frames:
            self._frames(number, frames)
        elif stack_lines.is_end(body):
            self._close()
        else:
            self._other(number, body)

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
        if self._blanks & 0b1000:
            return not frames or frames[0]["symbol"] not in _SCHEDULE
        task = self._task
        if not frames or task is None or task.pid is None:
            return False
        begins = body.lstrip().startswith(("[", "?", frames[0]["symbol"]))
        return begins and frames[0]["symbol"] not in _SCHEDULE

    # What follows </TASK> without a head is the rest of another stack that was
    # printed at the same time: of no use, for nobody knows whose it is.
    def _past_end(self, body: str) -> bool:
        if "</TASK>" in body:
            self._close()
            self._over = True
        elif "<TASK>" in body or _TRACE.search(body):
            self._over = False
        return self._over

    def _close(self) -> None:
        if self._task and self._task.guesses:
            self.done.append(self._task)
        self._task = None
        self._gap = 0

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
            return
        self._close()
        self._over = False
        self._task = LoggedTask(number, head.comm or None, head.pid, head.state)

    def _head(self, number: int, body: str) -> bool:
        """True when the line says whose stack comes next, or who owns a lock."""
        if heads.blocked_on(body):
            if told := heads.owner(body):
                self._host.owners[told.pid] = told
            self._close()
            return True
        head = heads.head(body)
        if head is None:
            return False
        if head.pid is not None and (head.hung or head.state == "D"):
            self._host.stuck.setdefault(head.pid, []).append((number, head.comm))
        self._open(number, head)
        return True

    # `cat`, `head -n 99` and `grep ''` of /proc/PID/stack name the file in front.
    def _proc(self, number: int, body: str) -> str:
        found = heads.proc_stack(body)
        if found is None:
            return body
        pid, rest = found
        if self._task is None or self._task.pid != pid:
            self._close()
            self._open(number, heads.Head("", pid))
        return rest

    def _named(self, number: int, body: str) -> bool:
        """True for a line that only names a task, in the words of /proc."""
        pid, self._unnamed = self._unnamed, None
        if pid is not None and (word := _WORD.fullmatch(body)):
            self._host.names[pid] = word["comm"]
            return True
        name = heads.name(body)
        if name is None:
            return False
        self._name(number, name)
        if name.comm is None:
            self._unnamed = name.pid
        else:
            self._host.names[name.pid] = name.comm
        return True

    def _name(self, number: int, name: heads.Name) -> None:
        """Keep a name for a stack that may follow; it ends the one before."""
        if self._task and self._task.guesses:
            self._close()
        self._label = number, name

    def _new(self, number: int) -> LoggedTask:
        """A task without a head: named by a label, where one is near."""
        task = LoggedTask(number)
        if self._label and abs(number - self._label[0]) <= MAX_LABEL_LINES:
            task.pid, task.comm = self._label[1]
        self._label = None
        return task

    def _frames(self, number: int, found: list[re.Match[str]]) -> None:
        # Stacks of /proc run on where nobody wrote a name between them.
        if self._task and self._task.frames and not stack_lines.is_guess(found[0]):
            last, first = self._task.frames[-1].symbol, found[0]["symbol"]
            if stack_lines.is_bottom(last) and not stack_lines.starts_bottom(first):
                self._close()
        if self._task is None:
            self._task = self._new(number)
        self._gap = 0
        for match in found:
            if len(self._task.guesses) >= MAX_FRAMES:
                return
            known = stack_lines.frame_of(match)
            if not stack_lines.is_guess(match):
                self._task.frames.append(known)
            elif stack_lines.is_pointer(match):
                continue
            self._task.guesses.append(known)

    def _other(self, number: int, body: str) -> None:
        if label := heads.label(body):
            self._name(number, label)
        task = self._task
        if task is None:
            return
        if match := _WORKQUEUE.search(body):
            task.workqueue = match["work"]
        if task.guesses and _TRACE.search(body):
            self._close()
            return
        if task.pid is None and not task.guesses:
            task.pid = heads.late_pid(body)
        if task.guesses and (symbol := stack_lines.place(body)) is not None:
            self._inline(task, symbol)
            return
        self._gap += bool(task.guesses)
        if self._gap > MAX_GAP:
            self._close()

    # Functions inlined into the last frame are inside it, its own is named last.
    def _inline(self, task: LoggedTask, symbol: str) -> None:
        for frames in (task.frames, task.guesses):
            if symbol and frames and frames[-1].symbol != symbol:
                frames.insert(len(frames) - 1, Frame(symbol, frames[-1].module))


class _Log:
    """The readers of a log, one for each host and each task or CPU that prints."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}
        self._readers: dict[tuple[str, str], _Reader] = {}
        self._last = ("", "")
        self._marks: dict[str, list[int]] = {}

    def take(self, row: tuple[int, Line]) -> None:
        """Take the next line, in the order of time."""
        number, line = row
        key = line.host, line.caller
        if not line.marked and not line.host:
            key = self._last
        self._last = key
        host = self._hosts.setdefault(key[0], _Host())
        if key not in self._readers:
            self._readers[key] = _Reader(host)
        self._readers[key].line(number, line)
        if "+0x" not in line.body and _NEW_SHOT.search(line.body):
            self._marks.setdefault(key[0], []).append(number)

    def tasks(self, newest_first: bool) -> list[LoggedTask]:
        """Every stack, in the order of time."""
        found = []
        for (host, _), reader in self._readers.items():
            for task in reader.finish():
                task.host = host
                self._complete(task)
                found.append(task)
        found.sort(key=lambda task: task.line, reverse=newest_first)
        _number_shots(found, self._marks, newest_first)
        return _once(found)

    def _complete(self, task: LoggedTask) -> None:
        host = self._hosts[task.host]
        if task.pid is None:
            return
        task.comm = task.comm or host.names.get(task.pid)
        if told := host.owners.get(task.pid):
            task.likely_owner, task.owner_comm = told.owner, told.comm
            task.lock = told.lock

    def unshown(self, tasks: list[LoggedTask]) -> list[Unshown]:
        """Tasks that hang by the kernel's word, of which there is no stack."""
        shown = {(task.host, task.pid) for task in tasks}
        return [
            Unshown(seen[0][0], name, seen[0][1], pid, len(seen))
            for name, host in self._hosts.items()
            for pid, seen in host.stuck.items()
            if (name, pid) not in shown
        ]


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
    """Pieces of a log up to where its compressed data is damaged; `why` tells how."""

    def __init__(self) -> None:
        self.why: str | None = None

    def of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same pieces."""
        try:
            yield from chunks
        except DamagedError as error:
            self.why = str(error)


def _read(rows: Iterable[Row]) -> Log:
    lines = _split(rows)
    begin, votes = _undecided(lines)
    log = _Log()
    if votes.newest_first:
        begin = [*begin, *lines][::-1]
    for row in chain(begin, lines):
        log.take(row)
    tasks = log.tasks(votes.newest_first)
    return Log(tasks, log.unshown(tasks), votes.newest_first)


def _split(rows: Iterable[Row]) -> Iterator[tuple[int, Line]]:
    for number, host, text in rows:
        line = split(text)
        if host and not line.host:
            line = line._replace(host=host, marked=True)
        yield number, line


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


def _number_shots(
    tasks: list[LoggedTask], marks: dict[str, list[int]], newest_first: bool
) -> None:
    """A mark begins a new shot of its host, and so does a task that was in this one.

    Shots of all hosts are counted together, so that no two hosts share one.
    """
    way = -1 if newest_first else 1
    ahead = {host: deque(found) for host, found in marks.items()}
    shots: dict[str, int] = {}
    seen: dict[str, set[int]] = {}
    count = 0
    for task in tasks:
        inside = seen.setdefault(task.host, set())
        marked = task.host not in shots
        left = ahead.get(task.host, deque())
        while left and left[0] * way <= task.line * way:
            left.popleft()
            marked = True
        if marked or task.pid in inside:
            shots[task.host] = count
            count += 1
            inside.clear()
        if task.pid is not None:
            inside.add(task.pid)
        task.shot = shots[task.host]


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
