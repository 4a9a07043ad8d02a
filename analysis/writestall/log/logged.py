# SPDX-License-Identifier: GPL-2.0-only
"""logged: hold what a log says of one task: its name, its stack, its locks."""

from __future__ import annotations

from dataclasses import dataclass, field

from writestall.classify.frames import Frame
from writestall.log.owners import Blocker, Held
from writestall.log.times import CHECKS, TIMEOUT_S, Time


@dataclass(slots=True)
class LoggedTask:
    """One stack of a log. `line` is where it begins, counted from 1.

    `shot` counts the moments the log shows: stacks of one shot stood at once, and
    stacks of two hosts never share one. `frames` are innermost first; `guesses` are
    those and the ones the kernel marked with `?`: addresses that lay on the stack and
    may be left over. `blocker` is what the kernel says of the lock waited for, `held`
    the locks that lockdep lists. `times`: how often the same stack, without a pid, is
    in the log. `cut`: the name of a frame may go on behind the edge of a terminal, or
    other text stands inside the stack.
    `cgroup` is its path, where the log has it. `time` is when it was printed,
    `window_s` how far apart reports of tasks may be that were stuck at once,
    `suppressions` how often the kernel had said before that it reports no more of them,
    `list_after_s` and `owner_after_s` by how much more than that lockdep's list, or the
    line about `blocker`, is later. `hung_s` is for how long, at least, it had been
    stuck when it was reported. `has_more`: the kernel's reports were used up, so tasks
    may hang that the log does not show. `is_vouched`: the
    kernel says that it hangs, or it is of /proc; else `trace` names what the lines
    before the stack begin, if that is no stuck task (traces.py). `quotes`: how many
    mails it was quoted in. `stalls_rcu`: RCU names it as one that its grace period
    waits for.
    """

    line: int
    comm: str | None = None
    pid: int | None = None
    state: str | None = None
    workqueue: str | None = None
    frames: list[Frame] = field(default_factory=list)
    guesses: list[Frame] = field(default_factory=list)
    shot: int = 0
    host: str = ""
    blocker: Blocker | None = None
    held: tuple[Held, ...] = ()
    lockdep_off: bool = False
    times: int = 1
    cut: bool = False
    cgroup: str | None = None
    time: Time | None = None
    window_s: int = CHECKS * TIMEOUT_S
    suppressions: int = 0
    list_after_s: float | None = None
    owner_after_s: float | None = None
    hung_s: int = 0
    has_more: bool = False
    is_vouched: bool = False
    trace: str | None = None
    quotes: int = 0
    stalls_rcu: bool = False

    def was_stuck(self, after_s: float) -> bool:
        """True if it may have been stuck so many seconds after its report, or before
        where that is negative."""
        return -max(self.window_s, self.hung_s) <= after_s <= self.window_s
