# SPDX-License-Identifier: GPL-2.0-only
"""walk: turns a stalled write into who waited for whom, down to the root, in numbers.

docs/how-causes-are-inferred.md tells the algorithm. A stack of frames (columns.py)
stands for calls that call themselves, which machine.py could not make machine code of.
Every window is tiled, so that the parts add up to the ns, always.
"""

from __future__ import annotations

from writestall.chain.columns import (
    AHEAD,
    C_CLS,
    C_COMPLETES,
    C_HOW,
    C_PATH,
    C_RELEASES,
    C_SUBMITS,
    C_WAKER,
    CASE,
    CIRCLE,
    COMPLETED,
    ENDED_IT,
    ENDINGS,
    F_AGAIN,
    F_ALSO,
    F_ASLEEP_NS,
    F_AT_NS,
    F_AWAKE_NS,
    F_BEST,
    F_BUDGET,
    F_COMPLETES,
    F_END_NS,
    F_HOLDER,
    F_LINK,
    F_MODE,
    F_PART,
    F_SLEEP,
    F_START_NS,
    F_STEP,
    F_STOP,
    F_TRIED,
    F_WHY,
    FRAME,
    INTERRUPTED,
    IO_ENDED,
    LINK_INFERRED,
    LINK_SEEN,
    NO_HELP,
    NO_WORD,
    NONE,
    NOT_KNOWN,
    NUMBERS,
    ON_ITS_WAY,
    P_ALSO,
    P_CLS,
    P_DUR_NS,
    P_EXPLAINED_NS,
    P_HOLDER,
    P_LINK,
    P_SIZE,
    P_WHY,
    PART,
    TIMED,
    TOO_LONG,
    W_DUR_NS,
    W_START_NS,
    W_TASK,
    WITH_IO,
    WOKEN,
    Column,
    Scratch,
    Tables,
)  # fmt: skip
from writestall.chain.leaf import gap, io_below, io_last, no_cause, own_rest, pause, put
from writestall.chain.parts import WAIT
from writestall.chain.search import another, ask, edge_ns_of, with_io
from writestall.classify import classes as c
from writestall.classify import endings as e

MAX_DEPTH = 48
MAX_PARTS = 100_000
# Alternatives to a waker are asked only where it explains less than this share.
GOOD_ENOUGH = 0.9
FULL = -1

_WAIT, _DEVICE_IO = NUMBERS[WAIT], NUMBERS[c.DEVICE_IO]
_RUNQUEUE, _THROTTLE = NUMBERS[c.RUNQUEUE], NUMBERS[c.DIRTY_THROTTLE]
_TASK, _COMPLETION = ENDINGS.index(e.TASK), ENDINGS.index(e.COMPLETION)
_TIMER, _UNKNOWN = ENDINGS.index(e.TIMER), ENDINGS.index(e.UNKNOWN)
# By ending: why nothing more is known.
_NO_CAUSE = (NO_WORD, IO_ENDED, TIMED, INTERRUPTED, NOT_KNOWN)
# Ended by a timer, these are their own root: the kernel pauses the task on purpose,
# or the disk's driver keeps it.
_PAUSES = frozenset(
    (c.DIRTY_THROTTLE, c.MEMORY, c.BLOCK_QUEUE, c.DEVICE_IO, c.RAID_OR_DM)
)
# Ended by an interrupt that names no completion, these still ended with an I/O: what
# they wait for is let go by a process, or by the end of an I/O, and by nothing else.
_ENDED_BY_IO = frozenset(c.WAIT_CLASSES) - {c.OTHER, c.DIRTY_THROTTLE, c.MEMORY}
# What these wait for is let go by the end of an I/O: who ended it in a work of its own,
# or as another's interrupt, had no lock. mm/filemap.c, folio_end_writeback();
# fs/jbd2/commit.c, journal_end_buffer_io_sync().
_FOR_AN_IO = frozenset((c.PAGE_WRITEBACK, c.JOURNAL_BUFFER, c.DEVICE_IO))
_IS_FOR_AN_IO = tuple(name in _FOR_AN_IO for name in NUMBERS)
_IS_PAUSE = tuple(name in _PAUSES for name in NUMBERS)
_IS_IO = tuple(name in _ENDED_BY_IO for name in NUMBERS)
# No step makes more parts.
_ROOM = 4 * PART

# How a wait goes on, which is what a frame is for: the write itself; by its holder; by
# who has the I/O in its hands, or has it while a writer is paused. Or it does not: its
# task sends a bio, an unnamed interrupt ended it, and nothing tells what did.
_OWN, _HELD, _DEVICE, _PAUSED, _SENDS, _CUT, _UNTOLD = range(7)
_WHY_OF = (NO_WORD, NO_WORD, IO_ENDED, TIMED, ON_ITS_WAY, INTERRUPTED, NO_WORD)
# Edges of a sleep: it ends, and the task runs again.
_ASLEEP, _IN_QUEUE = 1, 2


def follow(t: Tables, s: Scratch, writes: Column, write: int) -> int:
    """Makes the parts of a write, each before those below it; returns where they end.

    FULL where there is no room for them all.
    """
    frames, parts, start_ns = s.frames, s.parts, writes[write + W_START_NS]
    frames[F_MODE], frames[F_START_NS] = _OWN, start_ns
    frames[F_END_NS] = start_ns + writes[write + W_DUR_NS]
    frames[F_AWAKE_NS] = frames[F_ASLEEP_NS] = 0
    frames[F_BUDGET] = MAX_PARTS
    ask(t, frames, 0, writes[write + W_TASK])
    first, end, top = frames[F_STEP], 0, 0
    while True:
        if end + _ROOM > len(parts):
            return FULL
        step, at_ns = frames[top + F_STEP], frames[top + F_AT_NS]
        until_ns = frames[top + F_END_NS]
        over = step >= frames[top + F_STOP]
        if not over:
            edge_ns = edge_ns_of(t, step // 3, step % 3)
            over = step % 3 == 0 and edge_ns >= until_ns
            until_ns = min(edge_ns, until_ns)
        frames[top + F_STEP] = step + 1
        if until_ns > at_ns:
            frames[top + F_AT_NS] = until_ns
            end, top = _span(t, s, top, end, step, at_ns, until_ns)
        if over and top == 0:
            return own_rest(t, frames, parts, end, writes, write, (step - first) // 3)
        if over:
            end, top = _close(t, s, top, end)


def _span(
    t: Tables, s: Scratch, top: int, at: int, step: int, start_ns: int, end_ns: int
) -> tuple[int, int]:
    """What a frame's task did up to an edge, as a part of it.

    Returns where the parts end, and the frame on top: a new one to go on with it.
    """
    frames, task, edge = s.frames, s.frames[top + F_HOLDER], step % 3
    if edge == _ASLEEP:
        frames[F_BUDGET] -= 1
        if top == 0:
            frames[F_ASLEEP_NS] += end_ns - start_ns
        return _asleep(t, s, top, at, step // 3, start_ns, end_ns)
    if edge == _IN_QUEUE:
        kind, dur_ns, sleep = _RUNQUEUE, end_ns - start_ns, step // 3
        end = put(
            s.parts, at, kind, kind, 0, task, start_ns, dur_ns, LINK_SEEN, WOKEN, sleep
        )
        return end, top
    if top == 0:
        frames[F_AWAKE_NS] += end_ns - start_ns
        return at, top
    return gap(t, s.parts, at, task, frames[top + F_COMPLETES], start_ns, end_ns), top


def _asleep(
    t: Tables, s: Scratch, top: int, at: int, sleep: int, start_ns: int, end_ns: int
) -> tuple[int, int]:
    """The part of a sleep that lies in a window, followed where that is possible."""
    frames, case, dur_ns = s.frames, t.kinds[sleep] * CASE, end_ns - start_ns
    task, cls, path = (
        frames[top + F_HOLDER], t.cases[case + C_CLS], t.cases[case + C_PATH]
    )  # fmt: skip
    link, why = LINK_SEEN, NO_WORD
    end = put(s.parts, at, _WAIT, cls, path, task, start_ns, dur_ns, link, why, sleep)
    for frame in range(FRAME, top + FRAME, FRAME):
        if frames[frame + F_SLEEP] == sleep:
            return no_cause(s.parts, at, CIRCLE), top
    if frames[F_BUDGET] < 0 or top >= MAX_DEPTH * FRAME:
        return no_cause(s.parts, at, TOO_LONG), top
    way, how = _way(t, case), t.cases[case + C_HOW]
    if way == _UNTOLD:
        return no_cause(s.parts, at, _NO_CAUSE[how]), top
    s.parts[at + P_WHY] = _WHY_OF[way]
    if way in (_DEVICE, _CUT) and how != _COMPLETION:
        s.parts[at + P_LINK] = LINK_INFERRED
    way, holder = _asked(t, s, case, way, task, start_ns, end_ns)
    if holder != NONE:
        top += FRAME
        _push(t, frames, top, way, at, sleep, start_ns, end_ns, holder)
    elif way == _DEVICE and cls != _DEVICE_IO:
        end = io_below(s.parts, at, cls)
    return end, top


def _asked(
    t: Tables, s: Scratch, case: int, way: int, task: int, start_ns: int, end_ns: int
) -> tuple[int, int]:
    """How a wait goes on, and by whom: NONE where nobody is to be asked.

    Who completed an I/O did not hold it up, if another task had it in its hands.
    """
    if _is_for_an_io(t, case, way):
        holder = with_io(t, s.covers, t.cases[case + C_CLS], task, start_ns, end_ns)
        if holder != NONE:
            return _DEVICE if way == _HELD else way, holder
    return way, t.cases[case + C_WAKER] if way == _HELD else NONE


def _is_for_an_io(t: Tables, case: int, way: int) -> bool:
    """Whether another task may have had the I/O in its hands."""
    cls = t.cases[case + C_CLS]
    if way == _HELD:
        return t.cases[case + C_COMPLETES] != 0 and _IS_FOR_AN_IO[cls]
    return way == _DEVICE or (way == _PAUSED and cls == _THROTTLE)


# What ended a wait decides how it goes on.
def _way(t: Tables, case: int) -> int:
    cls, how = t.cases[case + C_CLS], t.cases[case + C_HOW]
    if t.cases[case + C_SUBMITS]:
        return _SENDS
    if how == _TASK:
        return _HELD
    if how == _TIMER and _IS_PAUSE[cls]:
        return _PAUSED
    if how == _COMPLETION or (how != _UNKNOWN and _IS_IO[cls]):
        return _DEVICE
    if cls == _DEVICE_IO and how != _UNKNOWN:
        return _CUT
    return _UNTOLD


def _push(
    t: Tables, frames: Column, top: int, mode: int, part: int, sleep: int,
    start_ns: int, end_ns: int, holder: int,
) -> None:  # fmt: skip
    """Makes a frame for a wait whose holder is asked what it did meanwhile."""
    case = t.kinds[sleep] * CASE
    frames[top + F_MODE], frames[top + F_SLEEP] = mode, sleep
    frames[top + F_PART] = frames[top + F_BEST] = part
    frames[top + F_START_NS], frames[top + F_END_NS] = start_ns, end_ns
    frames[top + F_COMPLETES], frames[top + F_LINK] = 0, LINK_INFERRED
    frames[top + F_WHY], frames[top + F_ALSO] = WITH_IO, NONE
    if mode == _HELD:
        frames[top + F_COMPLETES] = t.cases[case + C_COMPLETES]
        frames[top + F_WHY] = ENDED_IT
        if t.cases[case + C_RELEASES]:
            frames[top + F_LINK] = LINK_SEEN
        frames[top + F_AGAIN], frames[top + F_TRIED] = sleep + 1, NONE
    ask(t, frames, top, holder)


def _close(t: Tables, s: Scratch, top: int, end: int) -> tuple[int, int]:
    """What the holder did is told: the wait is done, or another task is asked."""
    frames, parts = s.frames, s.parts
    at, best = frames[top + F_PART], frames[top + F_BEST]
    if frames[top + F_MODE] == _PAUSED:
        pause(parts, at, end)
    elif frames[top + F_MODE] == _DEVICE:
        io_last(parts, at, end)
    end = _sum(frames, top, parts, end)
    if frames[top + F_MODE] != _HELD:
        return end, top - FRAME
    if at != best and parts[at + P_EXPLAINED_NS] > parts[best + P_EXPLAINED_NS]:
        for place in range(end - at):
            parts[best + place] = parts[at + place]
    end = best + parts[best + P_SIZE]
    if parts[best + P_EXPLAINED_NS] >= GOOD_ENOUGH * parts[best + P_DUR_NS]:
        return end, top - FRAME
    by = another(t, frames, top)
    if by == NONE:
        return end, top - FRAME
    case = t.kinds[by] * CASE
    frames[top + F_PART], frames[top + F_ALSO] = end, by
    frames[top + F_COMPLETES] = t.cases[case + C_COMPLETES]
    frames[top + F_LINK] = LINK_INFERRED
    frames[top + F_WHY] = NO_HELP if frames[top + F_TRIED] == NONE else AHEAD
    for place in range(PART):
        parts[end + place] = parts[best + place]
    ask(t, frames, top, t.cases[case + C_WAKER])
    return end + PART, top


def _sum(frames: Column, top: int, parts: Column, end: int) -> int:
    """Makes the part of a wait one over those that stand behind it."""
    at, holder, also = (
        frames[top + F_PART], frames[top + F_HOLDER], frames[top + F_ALSO]
    )  # fmt: skip
    below, explained_ns, count = at + PART, 0, 0
    while below < end:
        explained_ns += parts[below + P_EXPLAINED_NS]
        below += parts[below + P_SIZE]
        count += 1
    parts[at + P_EXPLAINED_NS], parts[at + P_SIZE] = explained_ns, end - at
    parts[at + P_HOLDER], parts[at + P_LINK] = holder, frames[top + F_LINK]
    parts[at + P_WHY], parts[at + P_ALSO] = frames[top + F_WHY], also
    completed = frames[top + F_COMPLETES] and parts[at + P_CLS] == _DEVICE_IO
    if not completed or count != 1:
        return end
    parts[at + P_EXPLAINED_NS], parts[at + P_SIZE] = parts[at + P_DUR_NS], PART
    parts[at + P_HOLDER], parts[at + P_LINK] = NONE, LINK_SEEN
    if also == NONE:
        parts[at + P_WHY] = COMPLETED + holder
    return at + PART
