# SPDX-License-Identifier: GPL-2.0-only
"""heads: read from a line of a kernel log whose stack comes next.

Lines of kernel/hung_task.c, of sched_show_task() (kernel/sched/core.c), of
dump_stack_print_info() (lib/dump_stack.c) and of crash(8), of 2.6.32 to 7.x, and the
lines that scripts print around /proc/PID/stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Head(NamedTuple):
    """A task whose stack follows. `hung`: the line is of the hung-task detector, and
    `hung_s` seconds have passed, or more, since the task slept."""

    comm: str
    pid: int | None = None
    state: str | None = None
    hung: bool = False
    hung_s: int = 0


class Name(NamedTuple):
    """A task named by a script. `comm` is None where the name is on the next line."""

    pid: int
    comm: str | None


# Since 6.18 a report may say what for: "blocked in I/O wait for more than".
_HUNG = re.compile(
    r"INFO: task (?P<comm>.{1,32}):(?P<pid>\d{1,10})(?:\(T\d{1,10}\))?"
    r" (?:<writer> )?(?:blocked\b(?! on)|b(?:l(?:o(?:c(?:ke?)?)?)?)?$)"
)
# A report's first lines, cut by a mailer before they say all.
_CUT = re.compile(r"INFO: task\b")
_COMPLETE = re.compile(
    r"for more than \d{1,10} sec|by (?:(?:reader|writer) )?task .{1,32}:\d|not found"
)
_SINCE = re.compile(r"for more than (?P<seconds>\d{1,10}) sec")
_SHOWN = re.compile(r"\btask:(?P<comm>.{1,20}?)\s{1,16}state:(?P<state>[A-Za-z])\b")
# Free stack of four or five digits (CONFIG_DEBUG_STACK_USAGE) leaves no space for one.
_SHOWN_OLD = re.compile(
    r"^(?P<comm>\S.{0,19}?)\s{1,16}(?P<state>[RSDTtXZPIKWN])"
    r"(?:(?: \s{0,16}[0-9a-fA-F]{8,16}\b|  running)?\s{1,16}\d{1,7}\s{1,12}"
    r"(?P<pid>\d{1,10})\s{1,12}\d{1,10}\b"
    r"|\d{1,7}\s{1,12}(?P<pid2>\d{1,10})\s{1,12}\d{1,10} 0x)"
)
_NOTED = re.compile(r"^comm (?P<comm>\S{1,20}) state (?P<state>[A-Z])$")
# The same, cut by a mailer behind the state.
_SHOWN_CUT = re.compile(r"^(?P<comm>\S.{0,19}?)(?:\s{2,16}|(?<=^.{15})\s)D$")
# Cut by a terminal behind the name.
_SHOWN_NAME = re.compile(r"^\s{0,2}task:(?P<comm>\S{1,20})$")
_PID = re.compile(r"\bpid:\s{0,8}(?P<pid>\d{1,10})")
_PID_CUT = re.compile(
    r"(?:[0-9a-f]{8,16}\s{1,16})?\d{1,7}\s{1,12}(?P<pid>\d{1,10})\s{1,12}\d{1,10}"
    r"\s{1,8}0x"
)
_PID_LAST, _GOES_ON = (
    re.compile(_PID.pattern + r"\s*$"),
    re.compile(r"\s*(?:tgid|ppid):"),
)
# The number alone, where `pid:` ends the line before.
_PID_ALONE = re.compile(r"\s{0,8}(?P<pid>\d{1,10})\s{1,12}(?:tgid|ppid):")
_CRASH = re.compile(r"^PID: (?P<pid>\d+).{0,80}COMMAND: \"(?P<comm>[^\"]{1,20})\"")
# Cut by a mailer before or behind `COMMAND:`.
_CRASH_CUT = re.compile(r"^PID: \d+\s{1,8}TASK: (?!.{0,80}COMMAND: \")")
# Its prompt, and what `files` prints behind the same head.
_NO_STACK = re.compile(r"^crash> |^ROOT: |^\s?FD {2,16}FILE ")
_DRGN = re.compile(r"\bstack_trace\(\D{0,40}(?P<pid>\d{1,10})\)")
_CPU = re.compile(
    r"\bP(?:ID|id): (?P<pid>\d{1,10}),? (?:UID: \d{1,10} )?[Cc]omm: (?P<comm>\S{1,20})"
)
_PROC_TASK = r"/proc/(?P<pid>\d{1,10})(?:/task/(?P<tid>\d{1,10}))?"
_PROC = re.compile(rf"{_PROC_TASK}/stack")
_PROC_COMM = re.compile(_PROC_TASK + r"/comm\b[\s:=<>]{0,16}(?P<comm>\S.{0,63})?$")
# Behind it a script may print the command line.
_PROC_NAME = re.compile(
    _PROC_TASK + r"/?:\s{0,4}(?P<comm>\S{1,64})(?:\s{0,4}:?$|\s{1,4}:\s.{0,400}$)"
)
_PS = re.compile(
    r"(?:\s{0,8}\S{1,32}\s)?\s{0,8}(?P<pid>\d{1,7})\s.{0,60}(?:pts/\d+|tty\w*|\?) {1,9}"
    r"[A-Z][\w<+]{0,7} .{0,16}?\d{1,6}:\d\d "
    r"\[?(?P<comm>[A-Za-z/(][^\s\]]{0,63})\]?(?: .*)?"
)
# Processes and `{threads}` by pstree -p, in lines with one of its branches.
_TREE = re.compile("[─├└┬│]|-[+-]-|[|`]-")
_IN_TREE = re.compile(
    r"(?:^|(?<=[─-]))\s{0,8}\{?(?P<comm>[A-Za-z][\w.:/@+-]{0,31})\}?\((?P<pid>\d{1,7})\)"
)
# A name alone; prose ends in a mark.
_ALONE = re.compile(r"\s{0,8}(?P<comm>[A-Za-z][\w./:+-]{1,62}\w)\s{0,8}")
# What loops in a shell print: `== 350 writer7 ==`, `PID: 350 COMM: writer7`,
# `pid=350 (writer7)`, `writer7 (350):`, `writer7/350`.
_LABELS = (
    re.compile(
        r"[\W_]{0,16}(?:[Pp][Ii][Dd]\b[\s:=#]{0,4})?(?P<pid>\d{1,7})\b[\W_]{1,8}"
        r"(?:(?:comm|COMM|name|Name|cmd|CMD|command|COMMAND)[\s:=]{1,4})?"
        r"[\[(<]?(?P<comm>[A-Za-z][^\s()<>\[\]]{0,63})[\])>]?[\W_]{0,16}"
    ),
    re.compile(
        r"[\W_]{0,16}(?!(?i:pid)\b)(?P<comm>[A-Za-z][^\s()<>\[\]=]{0,63}?)"
        r"(?:\s{0,4}[\[(<]|/|\s{1,4}[Pp][Ii][Dd][\s:=]{1,4})"
        r"(?P<pid>\d{1,7})[\])>]?[\W_]{0,16}"
    ),
    re.compile(r"\s{0,8}[Pp][Ii][Dd]: (?P<pid>\d{1,7})\s{0,4}"),
    # `350 writer7 D`, of ps -o pid,comm,state.
    re.compile(r"\s{0,8}(?P<pid>\d{1,7}) {1,8}(?P<comm>[A-Za-z]\S{0,63}) {1,8}[DRS]"),
    # `writer7 350`, but for words that stand before any number.
    re.compile(
        r"(?!(?i:\w*(?:thread|task|stack|cpu|node|process|pid|run|try|attempt|sample"
        r"|frame|line|part|page|step|test|case|number|linux|total|count)s?:? ))"
        r"(?P<comm>[A-Za-z][\w./:+-]{0,63}) (?P<pid>\d{1,7})\s{0,8}"
    ),
)


_HEADS = (
    *(_HUNG, _SHOWN, _SHOWN_OLD, _SHOWN_CUT),
    *(_CRASH, _CPU, _SHOWN_NAME, _DRGN, _NOTED),
)


def head(body: str, cut: bool = False) -> Head | None:
    """The task whose stack the kernel prints next.

    `cut`: the line may go on, so a number that ends it may lack digits.
    """
    for pattern in _HEADS:
        if match := pattern.search(body):
            groups = match.groupdict()
            pid = groups.get("pid") or groups.get("pid2")
            if pid is None and (more := _PID.search(body, match.end())):
                pid = None if cut and more.end() == len(body) else more["pid"]
            number = int(pid) if pid else None
            # dump_stack_print_info() is about the task that prints: it runs.
            state = "R" if pattern is _CPU else groups.get("state")
            comm = (groups.get("comm") or "").strip()
            since = _SINCE.search(body) if pattern is _HUNG else None
            hung_s = int(since["seconds"]) if since else 0
            return Head(comm, number, state, pattern is _HUNG, hung_s)
    return None


def marks_nothing(body: str) -> bool:
    """True for the head of a task by a kernel that marks no frame as doubtful: up to
    2.6.22 it ends in whether the task has memory of its own (kernel/sched.c
    show_task())."""
    return body.rstrip().endswith(("(NOTLB)", "(L-TLB)"))


def is_cut(body: str) -> bool:
    """True for a report's first line, or crash's, that goes on in the next."""
    if _CRASH_CUT.search(body):
        return True
    return _CUT.search(body) is not None and _COMPLETE.search(body) is None


def ends_all(body: str) -> bool:
    """True for a line of crash(8) behind which no stack is that of the task before."""
    return _NO_STACK.search(body) is not None


def late_pid(body: str, before: str = "") -> int | None:
    """The pid in the second half of a head that was cut in two, or at the end of its
    first half, where the second goes on with another word."""
    match = _PID.search(body) or _PID_CUT.match(body) or _PID_ALONE.match(body)
    if match is None and _GOES_ON.match(body):
        match = _PID_LAST.search(before)
    return int(match["pid"]) if match else None


def proc_stack(body: str) -> tuple[int, str] | None:
    """The task whose /proc/PID/stack a line names, and the rest of the line."""
    match = _PROC.search(body)
    if match is None:
        return None
    return int(match["tid"] or match["pid"]), body[match.end() :]


def name(body: str) -> Name | None:
    """A task's name in the words of /proc."""
    for pattern in (_PROC_COMM, _PROC_NAME):
        if match := pattern.search(body):
            return Name(int(match["tid"] or match["pid"]), match["comm"])
    return None


def processes(body: str) -> list[Name]:
    """The tasks that a line of ps(1) or pstree(1) names: `350 pts/2 D+ 0:00 writer7`,
    `writer7(350)-+-{writer7}(351)`."""
    found: Iterable[re.Match[str]] = ()
    if match := _PS.fullmatch(body):
        found = (match,)
    elif "(" in body and _TREE.search(body):
        found = _IN_TREE.finditer(body)
    return [Name(int(one["pid"]), one["comm"]) for one in found]


def word(body: str) -> str | None:
    """The word of a line that holds nothing else: a name, if a stack follows."""
    match = _ALONE.fullmatch(body)
    return match["comm"] if match else None


def label(body: str) -> Name | None:
    """A task's name in a line that holds nothing else."""
    for pattern in _LABELS:
        if match := pattern.fullmatch(body):
            return Name(int(match["pid"]), match.groupdict().get("comm"))
    return None
