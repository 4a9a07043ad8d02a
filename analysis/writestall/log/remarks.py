# SPDX-License-Identifier: GPL-2.0-only
"""remarks: read a log from its place, and say what is known beside its stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from writestall.common import compressed
from writestall.common.compressed import Bound
from writestall.log.reading import Log, Unshown, read
from writestall_base.errors import UserError
from writestall_base.units import many

# Tasks named of those without a stack.
NAMED = 20
WHERE = "dmesg, journalctl -k, or echo w > /proc/sysrq-trigger while they hang"


class NoStacksError(UserError):
    """A text without any stack, of which nothing else is known."""


def read_place(place: str, bound: Bound) -> Log:
    """The log in a file, or on standard input (`-`); raises where it is none."""
    where = name(place)
    try:
        with compressed.opened(place, bound) as (content, _):
            log = read(compressed.chunks(content))
    except OSError as error:
        raise UserError(f"{where}: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    if log.unreadable:
        raise UserError(f"{where}: this is {log.unreadable}")
    if log.damaged and not log.tasks and not log.unshown:
        raise UserError(f"{where}: {log.damaged}; no stack comes before that")
    if not log.tasks and not log.unshown:
        raise NoStacksError(
            f"{where}: no stack of a stuck task found; paste hung-task reports, the "
            "output of sysrq w, or /proc/PID/stack"
        )
    return log


def name(place: str) -> str:
    """How a place is called in an answer."""
    return "standard input" if place == "-" else place


def lines(log: Log) -> Iterator[str]:
    """What is to be said beside the stacks."""
    if log.newest_first:
        yield "The log stands newest first; it was read from its end."
    hosts = sorted({task.host for task in log.tasks if task.host})
    if len(hosts) > 1:
        yield f"It has stacks of {len(hosts)} hosts: {', '.join(hosts[:NAMED])}."
    if log.damaged:
        yield f"It is {log.damaged}; it was read as far as it goes."
    if log.unshown:
        yield f"{unshown(log.unshown)}."
        yield f"Their stacks: {WHERE}."


def unshown(tasks: list[Unshown]) -> str:
    """Who hangs, and has no stack in the log."""
    names = [_described(task) for task in tasks[:NAMED]]
    if len(tasks) > NAMED:
        names.append(f"and {len(tasks) - NAMED} more")
    return f"{many(len(tasks), 'stuck task')} without a stack: {', '.join(names)}"


def _described(task: Unshown) -> str:
    host = f" on {task.host}" if task.host else ""
    return f"{task.comm}/{task.pid}{host}" + (
        f" ({task.times} times)" if task.times > 1 else ""
    )


def as_json(log: Log) -> dict[str, Any]:
    """The same as fields beside those of the answer."""
    return {
        "newest_first": log.newest_first,
        "damaged": log.damaged,
        "without_stack": [
            {
                "line": task.line,
                "host": task.host or None,
                "comm": task.comm,
                "pid": task.pid,
                "times": task.times,
            }
            for task in log.unshown
        ],
        "reports": [
            {
                "line": one.line,
                "host": one.host or None,
                "what": one.words,
                "times": one.times,
                "time": one.time.text if one.time else None,
            }
            for one in log.reports
        ],
    }
