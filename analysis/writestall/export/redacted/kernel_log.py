# SPDX-License-Identifier: GPL-2.0-only
"""kernel_log: keep the stacks and the hung tasks of a kernel log, and nothing else.

Any program may write to the log, and drivers print names of theirs: a line whose form
is not known is left out, its time stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from writestall.export.redacted.names import Names

LEFT_OUT = "(left out)"
_TIME = re.compile(r"(\[\s*\d+\.\d+\] )(.*)", re.DOTALL)
# kernel/kallsyms.c and arch/x86/kernel/dumpstack.c
_STACK = re.compile(
    r" (?:Call Trace:|</?TASK>| ?(?:\? )?[\w.$]+\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?)"
    r"|Call Trace:"
)
# kernel/hung_task.c check_hung_task(), kernel/sched/core.c sched_show_task()
_TASKS = tuple(
    re.compile(form)
    for form in (
        r"(INFO: task )(.*)(:\d+ blocked for more than \d+ seconds\.)",
        r"(task:)(.*?)( *state:\w stack:\d+ +pid:\d+ [\w: -]*)",
    )
)


def redacted(lines: Iterable[str], names: Names) -> Iterator[str]:
    """The lines, without ends of line."""
    for line in lines:
        found = _TIME.fullmatch(line)
        time, text = found.groups() if found else ("", line)
        yield f"{time}{_text(text, names)}"


def _text(text: str, names: Names) -> str:
    if _STACK.fullmatch(text):
        return text
    for form in _TASKS:
        if found := form.fullmatch(text):
            return f"{found[1]}{names.comm(found[2])}{found[3]}"
    return LEFT_OUT
