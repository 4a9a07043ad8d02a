# SPDX-License-Identifier: GPL-2.0-only
"""sleeps: find the paths from the root to the functions in which slow calls sleep."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]
Path = tuple[str, ...]

ENOUGH_SHARE = 0.95
# Frames that only put the task to sleep, on behalf of the one that called them
# (kernel/sched/core.c, kernel/time/sleep_timeout.c, kernel/sched/wait_bit.c).
PUT_TO_SLEEP = re.compile(
    r"(?:__)?schedule(?:_timeout\w*|_preempt_disabled)?"
    r"|io_schedule(?:_timeout|_prepare)?"
    r"|bit_wait(?:_io)?|__wait_on_bit(?:_lock)?|out_of_line_wait_on_bit(?:_lock)?"
)


def _name(frame: str) -> str:
    return frame.split("+0x")[0]


def below(kstack: Iterable[str], root: str) -> Path:
    """Return the frames from the root to the function that sleeps; () if not below it.

    Frames without a symbol are left out.
    """
    frames = [frame for frame in kstack if not frame.startswith("0x")][::-1]
    names = [_name(frame) for frame in frames]
    if root not in names:
        return ()
    while names[-1] != root and PUT_TO_SLEEP.fullmatch(names[-1]):
        names.pop()
    return tuple(frames[names.index(root) : len(names)])


def _path(stack: Path) -> Path:
    return tuple(_name(frame) for frame in stack[1:])


def path(kstack: Iterable[str], root: str) -> Path:
    """Return the functions below the root down to the one that sleeps."""
    return _path(below(kstack, root))


def _calls_by_task(calls: Iterable[Event]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for call in calls:
        span = (call["t_ns"], call["t_ns"] + call["dur_ns"])
        found.setdefault(call["tid"], []).append(span)
    return {tid: sorted(spans) for tid, spans in found.items()}


def slept(events: Iterable[Event]) -> Counter[Path]:
    """Return how long slow calls slept with each kernel stack, in ns."""
    events = list(events)
    spans = _calls_by_task(event for event in events if event["ev"] == "call")
    found: Counter[Path] = Counter()
    for event in events:
        if event["ev"] != "block":
            continue
        own = spans.get(event["tid"], [])
        place = bisect_right(own, (event["t_ns"], 1 << 63)) - 1
        if place >= 0 and event["t_ns"] < own[place][1]:
            found[tuple(event["kstack"])] += event["dur_ns"]
    return found


def stacks(events: Iterable[Event], root: str) -> Counter[Path]:
    """Return how long slow calls slept with each stack below the root, in ns."""
    found: Counter[Path] = Counter()
    for kstack, ns in slept(events).items():
        found[below(kstack, root)] += ns
    return found


def paths(events: Iterable[Event], root: str) -> Counter[Path]:
    """Return how long slow calls slept on each path, in ns."""
    found: Counter[Path] = Counter()
    for stack, ns in stacks(events, root).items():
        found[_path(stack)] += ns
    return found


def main(found: Counter[Path]) -> list[Path]:
    """Return the paths of nearly all of the sleep, longest first."""
    chosen, sum_ns = [], 0
    for one, ns in found.most_common():
        if sum_ns >= ENOUGH_SHARE * found.total():
            break
        chosen.append(one)
        sum_ns += ns
    return chosen
