# SPDX-License-Identifier: GPL-2.0-only
"""asleep: tell a stack of a task that sleeps from other traces.

A task that sleeps has schedule() innermost (kernel/sched/core.c), which
/proc/PID/stack alone leaves out (kernel/stacktrace.c).
"""

from __future__ import annotations

from writestall.classify.stack import classify_frames, is_sleep
from writestall.log.logged import LoggedTask
from writestall.log.traces import NO_SLEEPS

UNKNOWN = "stacks without schedule() innermost"


def trace_kind(task: LoggedTask) -> str | None:
    """What a stack is called that is no sleep; None for one that is."""
    if task.state or task.is_vouched or not task.guesses:
        return None
    if task.trace not in NO_SLEEPS and _sleeps(task):
        return None
    return task.trace or UNKNOWN


def _sleeps(task: LoggedTask) -> bool:
    """True if the innermost function sleeps, or a rule knows that it does."""
    frames = task.frames or task.guesses
    first = task.guesses.index(frames[0])
    if any(is_sleep(frame.symbol) for frame in task.guesses[: first + 1]):
        return True
    verdict = classify_frames(frames)
    return verdict.rule is not None and verdict.path[-1:] == (frames[0].symbol,)
