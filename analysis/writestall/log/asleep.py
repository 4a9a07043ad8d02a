# SPDX-License-Identifier: GPL-2.0-only
"""asleep: distinguish a stack of a task that sleeps from other traces.

A task that sleeps has schedule() innermost (kernel/sched/core.c), which
/proc/PID/stack alone leaves out (kernel/stacktrace.c).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from writestall.classify.frames import Frame
from writestall.classify.stack import classify_frames, is_sleep
from writestall.log.logged import LoggedTask
from writestall.log.traces import NO_SLEEPS

# kernel/sched/core.c: what a task calls that gives way and is to run on.
_PREEMPTED = re.compile(
    r"preempt_schedule(_\w+)?|_*cond_resched(_\w+)?|__schedule|schedule|yield"
    r"|context_switch"
)
# arch/x86/include/asm/idtentry.h, kernel/entry/common.c: how a CPU comes to leave it.
_ENTERED = re.compile(
    r"(asm_)?(sysvec|exc)_\w+|(asm_)?common_interrupt|irqentry_\w+|raw_irqentry_\w+"
    r"|apic_timer_interrupt|sched_show_task|show_stack|dump_stack\w*|nmi_\w+"
)
# kernel/wait.c, fs/buffer.c, mm/filemap.c; i386 calls semaphores out of line.
_WRAPS = re.compile(
    r"out_of_line_wait_on_bit(_lock)?|__wait_on_buffer|__lock_buffer|__lock_page"
    r"|wait_on_page_bit|__(down|up)_failed\w*|text\.lock\.\w+"
)
# How many frames may be left over in front of a sleep, or within.
MAX_LEFT = 12
UNKNOWN = "stacks without schedule() innermost"


def trace_kind(task: LoggedTask) -> str | None:
    """What a stack is called that is no sleep; None for one that is."""
    if task.state or task.is_vouched or not task.guesses:
        return None
    if task.trace not in NO_SLEEPS and _sleeps(task):
        return None
    return task.trace or UNKNOWN


def without_leftovers(frames: list[Frame]) -> list[Frame]:
    """A stack from where it sleeps on, of a kernel that does not mark doubtful frames.

    Up to 2.6.24 x86 prints every address on the stack that may be one of code
    (arch/i386/kernel/traps.c print_context_stack()), so what was called before the
    task slept stands in front. Who waits for a bit names the function that sleeps
    inside it (kernel/wait.c __wait_on_bit()).
    """
    near = (i for i, f in enumerate(frames[:MAX_LEFT]) if is_sleep(f.symbol))
    at = next(near, 0)
    if at and "wait_on_bit" in frames[at].symbol:
        at -= 1
    last = at + next(
        (i for i in range(MAX_LEFT, 0, -1) if _is_wrapper(frames[at + i : at + i + 1])),
        0,
    )
    inside = [frame for frame in frames[at + 1 : last] if is_sleep(frame.symbol)]
    return [*frames[at : at + 1], *inside, *frames[max(last, at + 1) :]]


def _is_wrapper(frame: list[Frame]) -> bool:
    """True for what only calls functions that sleep."""
    return bool(frame) and _WRAPS.fullmatch(frame[0].symbol) is not None


def preempted_in(frames: Sequence[Frame]) -> str:
    """The function that a task was to leave for a while and runs on in; empty for a
    task that sleeps."""
    names = [frame.symbol for frame in frames]
    at = next((i for i, name in enumerate(names) if not _PREEMPTED.fullmatch(name)), 0)
    gave_way = any("_schedule_" in name or "resched" in name for name in names[:at])
    return names[at] if gave_way else ""


def runs_in(frames: Sequence[Frame]) -> str:
    """The innermost function of a task that a CPU runs, or would: not that by which it
    was interrupted or showed itself."""
    names = [frame.symbol for frame in frames]
    left = (_PREEMPTED, _ENTERED)
    return next((x for x in names if not any(n.fullmatch(x) for n in left)), names[0])


def _sleeps(task: LoggedTask) -> bool:
    """True if the innermost function sleeps, or a rule knows that it does."""
    frames = task.frames or task.guesses
    first = task.guesses.index(frames[0])
    if any(is_sleep(frame.symbol) for frame in task.guesses[: first + 1]):
        return True
    verdict = classify_frames(frames)
    return verdict.rule is not None and verdict.path[-1:] == (frames[0].symbol,)
