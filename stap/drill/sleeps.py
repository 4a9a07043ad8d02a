# SPDX-License-Identifier: GPL-2.0-only
"""sleeps: stacks of slow calls' sleeps to the paths from the root to who sleeps."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]
Path = tuple[str, ...]

# Frames that only put the task to sleep, on behalf of the one that called them
# (kernel/sched/core.c, kernel/time/sleep_timeout.c, kernel/sched/wait_bit.c).
PUT_TO_SLEEP = re.compile(
    r"(?:__)?schedule(?:_timeout\w*|_preempt_disabled)?"
    r"|io_schedule(?:_timeout|_prepare)?"
    r"|bit_wait(?:_io)?|__wait_on_bit(?:_lock)?|out_of_line_wait_on_bit(?:_lock)?"
)


def _names(kstack: list[str]) -> list[str]:
    """Function names, outermost first; what has no symbol is left out."""
    names = [frame.split("+0x")[0] for frame in reversed(kstack)]
    return [name for name in names if not name.startswith("0x")]


def path(kstack: list[str], root: str) -> Path:
    """From the root (left out) to the function that sleeps; () if not below it."""
    names = _names(kstack)
    if root not in names:
        return ()
    below = names[names.index(root) + 1 :]
    while below and PUT_TO_SLEEP.fullmatch(below[-1]):
        below.pop()
    return tuple(below)


def _calls_by_task(calls: Iterable[Event]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for call in calls:
        span = (call["t_ns"], call["t_ns"] + call["dur_ns"])
        found.setdefault(call["tid"], []).append(span)
    return {tid: sorted(spans) for tid, spans in found.items()}


def paths(events: Iterable[Event], root: str) -> Counter[Path]:
    """How long slow calls slept on each path, in ns."""
    events = list(events)
    spans = _calls_by_task(event for event in events if event["ev"] == "call")
    slept: Counter[Path] = Counter()
    for event in events:
        if event["ev"] != "block":
            continue
        own = spans.get(event["tid"], [])
        place = bisect_right(own, (event["t_ns"], 1 << 63)) - 1
        if place >= 0 and event["t_ns"] < own[place][1]:
            slept[path(event["kstack"], root)] += event["dur_ns"]
    return slept
