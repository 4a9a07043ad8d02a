# SPDX-License-Identifier: GPL-2.0-only
"""search: turns a moment or a window into the sleeps that tell of it.

Numbers only (columns.py): machine.py makes machine code of it.
"""

from __future__ import annotations

from writestall.chain.columns import (
    C_CLS,
    C_HOW,
    C_STACK,
    C_TASK,
    CASE,
    COVER,
    ENDINGS,
    F_AGAIN,
    F_AHEAD,
    F_AT_NS,
    F_END_NS,
    F_HOLDER,
    F_SLEEP,
    F_START_NS,
    F_STEP,
    F_STOP,
    F_TRIED,
    FLUSHERS,
    JOURNAL,
    LOG_QUEUE,
    NONE,
    NUMBERS,
    SERVERS,
    SUBMITTERS,
    T_FIRST,
    T_STOP,
    T_THREAD,
    TASK,
    V_FIRST,
    V_NEXT,
    V_NS,
    V_TASK,
    Column,
    Tables,
)  # fmt: skip
from writestall.classify import classes as c
from writestall.classify.endings import TASK as BY_TASK

# So many next sleeps, or ones ahead in the queue, are asked.
MAX_AGAIN = 8

_TASK = ENDINGS.index(BY_TASK)
_LOG_SPACE, _THROTTLE = NUMBERS[c.LOG_SPACE], NUMBERS[c.DIRTY_THROTTLE]
_JOURNAL_WAITS = (c.JOURNAL_BUFFER, c.JOURNAL_TRANSACTION, c.JOURNAL_COMMIT_WAIT)
# Who has the I/O in its hands that a wait of a class is for.
_IO_OF = tuple(
    JOURNAL if name in _JOURNAL_WAITS
    else FLUSHERS if name == c.DIRTY_THROTTLE
    else SERVERS if name == c.DEVICE_IO
    else SUBMITTERS
    for name in NUMBERS
)  # fmt: skip


def edge_ns_of(t: Tables, sleep: int, edge: int) -> int:
    """When a sleep begins, when it ends, or when the task runs again."""
    ns = t.t_ns[sleep]
    if edge > 0:
        ns += t.dur_ns[sleep]
    if edge > 1:
        ns += t.runq_ns[sleep]
    return ns


def run_ns_of(t: Tables, sleep: int) -> int:
    """When the task ran again; an unknown runq_ns adds nothing."""
    return t.t_ns[sleep] + t.dur_ns[sleep] + max(t.runq_ns[sleep], 0)


def ask(t: Tables, frames: Column, top: int, holder: int) -> None:
    """Sets a frame to the first that a task did in its window.

    Of sleeps that began before it, the last one reaches into it or none.
    """
    task, start_ns = holder * TASK, frames[top + F_START_NS]
    first, stop = t.tasks[task + T_FIRST], t.tasks[task + T_STOP]
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if t.t_ns[middle] <= start_ns:
            low = middle + 1
        else:
            high = middle
    if low > first and run_ns_of(t, low - 1) > start_ns:
        low -= 1
    frames[top + F_HOLDER], frames[top + F_AT_NS] = holder, start_ns
    frames[top + F_STEP], frames[top + F_STOP] = 3 * low, 3 * stop


def another(t: Tables, frames: Column, top: int) -> int:
    """The next sleep whose waker is to be asked, too; NONE if there is none."""
    sleep = frames[top + F_SLEEP]
    case = t.kinds[sleep] * CASE
    task, stack = t.cases[case + C_TASK] * TASK, t.cases[case + C_STACK]
    stop = min(sleep + 1 + MAX_AGAIN, t.tasks[task + T_STOP])
    # Sleeps that follow at once on the same stack: the wake-up before did not help.
    while frames[top + F_AGAIN] < stop:
        after = frames[top + F_AGAIN]
        frames[top + F_AGAIN] = after + 1
        case = t.kinds[after] * CASE
        apart_ns = t.t_ns[after] - run_ns_of(t, after - 1)
        if apart_ns >= t.floor_ns or t.cases[case + C_STACK] != stack:
            frames[top + F_AGAIN] = stop
        elif t.cases[case + C_HOW] == _TASK:
            return after
    return _ahead(t, frames, top)


# Room in the log is given in the order of asking, and by whoever frees some, also by
# one who returns what it had not used: what held up the queue's first held up all
# (fs/xfs/xfs_log.c, xlog_grant_head_wait() and xlog_grant_head_wake()).
def _ahead(t: Tables, frames: Column, top: int) -> int:
    sleep, first = frames[top + F_SLEEP], t.edges[LOG_QUEUE]
    if t.cases[t.kinds[sleep] * CASE + C_CLS] != _LOG_SPACE:
        return NONE
    start_ns, end_ns = frames[top + F_START_NS], frames[top + F_END_NS]
    if frames[top + F_TRIED] == NONE:
        frames[top + F_TRIED] = 0
        frames[top + F_AHEAD] = _before(t, LOG_QUEUE, end_ns)
    while frames[top + F_AHEAD] >= first and frames[top + F_TRIED] < MAX_AGAIN:
        at = frames[top + F_AHEAD]
        earlier = t.listed[at]
        wake_ns = t.t_ns[earlier] + t.dur_ns[earlier]
        frames[top + F_AHEAD] = at - 1 if wake_ns > start_ns else t.longer[at]
        by_task = t.cases[t.kinds[earlier] * CASE + C_HOW] == _TASK
        ahead = t.t_ns[earlier] < t.t_ns[sleep] and start_ns < wake_ns <= end_ns
        if ahead and by_task:
            frames[top + F_TRIED] += 1
            return earlier
    return NONE


def _before(t: Tables, of: int, end_ns: int) -> int:
    """The last sleep of a set that began before a moment, as a place in the list."""
    low, high = t.edges[of], t.edges[of + 1]
    while low < high:
        middle = (low + high) // 2
        if t.t_ns[t.listed[middle]] < end_ns:
            low = middle + 1
        else:
            high = middle
    return low - 1


def with_io(
    t: Tables, covers: Column, cls: int, task: int, start_ns: int, end_ns: int
) -> int:
    """The one task that had the I/O in its hands for most of a wait, NONE without one;
    or for any part of a pause, whose rest stays its own.

    For the journal's I/O that is the journal, also where it waits for what it has
    sent; for a device's, a stacked one's worker; for any other, a task asleep with a
    bio that it has not sent; a flusher, where a writer is throttled. One that ends
    before the window rules out all those up to the nearest that lasts longer, so that
    only few are looked at.
    """
    of = _IO_OF[cls]
    at, first, before = _before(t, of, end_ns), t.edges[of], NONE
    while at >= first:
        sleep = t.listed[at]
        wake_ns = t.t_ns[sleep] + t.dur_ns[sleep]
        if wake_ns <= start_ns:
            at = t.longer[at]
            continue
        by = t.cases[t.kinds[sleep] * CASE + C_TASK]
        cover = t.tasks[by * TASK + T_THREAD] * COVER
        if not covers[cover + V_TASK]:
            covers[cover + V_TASK], covers[cover + V_NEXT] = by + 1, before
            before = cover
        covers[cover + V_NS] += min(wake_ns, end_ns) - max(t.t_ns[sleep], start_ns)
        covers[cover + V_FIRST] = at
        at -= 1
    least_ns = 0 if cls == _THROTTLE else end_ns - start_ns
    return _most(covers, before, t.tasks[task * TASK + T_THREAD] * COVER, least_ns)


def _most(covers: Column, cover: int, own: int, least_ns: int) -> int:
    """The task that covers most, and more than half of least_ns; clears them all."""
    best = best_ns = first = NONE
    while cover != NONE:
        ns, at = covers[cover + V_NS], covers[cover + V_FIRST]
        if cover != own and (ns > best_ns or (ns == best_ns and at < first)):
            best, best_ns, first = covers[cover + V_TASK] - 1, ns, at
        covers[cover + V_NS] = covers[cover + V_TASK] = 0
        cover = covers[cover + V_NEXT]
    return best if 2 * best_ns > least_ns else NONE


def fill_longer(t: Tables) -> None:
    """Fills `longer` of the tables."""
    longer = t.longer
    for of in range(len(t.edges) - 1):
        first = t.edges[of]
        for at in range(first, t.edges[of + 1]):
            sleep = t.listed[at]
            wake_ns = t.t_ns[sleep] + t.dur_ns[sleep]
            before = at - 1
            while before >= first:
                other = t.listed[before]
                if t.t_ns[other] + t.dur_ns[other] > wake_ns:
                    break
                before = longer[before]
            longer[at] = before if before >= first else NONE
