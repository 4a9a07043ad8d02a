# SPDX-License-Identifier: GPL-2.0-only
"""log_forms: write the stack of a stuck task in the forms of tools and old kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from log_stacks import Shown

# What lies in .sched.text: /proc/PID/stack leaves it out (kernel/stacktrace.c
# stack_trace_consume_entry_nosched()).
_ASLEEP = re.compile(
    r"(__)?(io_)?schedule\w*|_*mutex_lock\w*|_*down(_\w+)?|(call_)?rwsem_down_\w+"
    r"|_*wait_for_com\w+|(out_of_line|_)_wait_on_bit\w*|bit_wait\w*"
)
_RAW = " ffff81003ef83b78 0000000000000082 0000000000000296 ffffffff801f2d31"


def _frames(task: Shown) -> Iterator[tuple[str, str]]:
    """Functions and their modules, innermost first."""
    for name in task.stack.split():
        symbol, _, module = name.partition("/")
        yield symbol, module


def _behind(module: str) -> str:
    return f" [{module}]" if module else ""


def _before(module: str) -> str:
    return f":{module}:" if module else ""


def _head(task: Shown) -> list[str]:
    """The line of a task up to 2.6.22."""
    return [
        f"{task.comm:<13} D 000000000000000a     0 {task.pid:>5}      2 (NOTLB)",
        _RAW,
    ]


def quoted(task: Shown) -> list[str]:
    """In a mail that somebody answered."""
    return [f"> {line}" for line in task.report()]


def crash(task: Shown) -> list[str]:
    """`bt` of crash(8)."""
    head = f'PID: {task.pid}  TASK: ffff8808cd242800  CPU: 19  COMMAND: "{task.comm}"'
    return [head] + [
        f" #{at} [ffff880019c53588] {symbol} at ffffffff818c4df2{_behind(module)}"
        for at, (symbol, module) in enumerate(_frames(task))
    ]


def drgn(task: Shown) -> list[str]:
    """prog.stack_trace() of drgn: it names no modules."""
    return [f">>> prog.stack_trace({task.pid})"] + [
        f"#{at}  {symbol} (fs/some/file.c:{at + 10}:2)"
        for at, (symbol, _) in enumerate(_frames(task))
    ]


def decoded(task: Shown) -> list[str]:
    """Through scripts/decode_stacktrace.sh."""
    frame = re.compile(r" (\S+)\+0x10/0x90(?: \[(\w+)\])?")
    return [
        f" {found[1]} (fs/file.c:12 (discriminator 3)) {found[2] or ''}".rstrip()
        if (found := frame.fullmatch(line))
        else line
        for line in task.report()
    ]


def braces(task: Shown) -> list[str]:
    """By x86_64 up to 2.6.17: two frames in a line, decimal offsets."""
    found = [f"<ffffffff801f2d31>{{{_before(m)}{s}+34}}" for s, m in _frames(task)]
    lines = [" ".join(found[at : at + 2]) for at in range(0, len(found), 2)]
    return [
        *_head(task),
        f"Call Trace: {lines[0]}",
        *(f"       {x}" for x in lines[1:]),
    ]


def in_front(task: Shown) -> list[str]:
    """By x86_64 up to 2.6.24: the module before the function."""
    return [*_head(task), "Call Trace:"] + [
        f" [<ffffffff801f2d31>] {_before(module)}{symbol}+0x21/0xb0"
        for symbol, module in _frames(task)
    ]


def proc(task: Shown) -> list[str]:
    """/proc/PID/stack, by a loop that prints pid and name before each."""
    shown = [row for row in _frames(task) if not _ASLEEP.fullmatch(row[0])]
    return [f"== {task.pid} {task.comm} =="] + [
        f"[<0>] {symbol}+0x10/0x90{_behind(module)}" for symbol, module in shown
    ]


FORMS: tuple[Callable[[Shown], list[str]], ...] = (
    *(quoted, crash, drgn, decoded, braces, in_front, proc),
)
