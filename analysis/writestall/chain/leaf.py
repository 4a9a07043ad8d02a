# SPDX-License-Identifier: GPL-2.0-only
"""leaf: turns stretches of time into the parts at which a way ends.

Numbers only (columns.py): machine.py makes machine code of it.
"""

from __future__ import annotations

from writestall.chain.columns import (
    AWAKE,
    BETWEEN,
    F_ASLEEP_NS,
    F_AWAKE_NS,
    IO_ENDED,
    IO_WORK,
    LINK_INFERRED,
    LINK_SEEN,
    NO_EVENT,
    NO_WORD,
    NONE,
    NUMBERS,
    OWNERS,
    P_ALSO,
    P_CLS,
    P_DUR_NS,
    P_EXPLAINED_NS,
    P_HOLDER,
    P_KIND,
    P_KNOWN,
    P_LINK,
    P_OWNER,
    P_PATH,
    P_SIZE,
    P_SLEEP,
    P_START_NS,
    P_TASK,
    P_WHY,
    PART,
    SHORT,
    TIMED,
    UNTRACED,
    W_SLEEPS,
    W_SLEPT_NS,
    W_TASK,
    Column,
    Tables,
)  # fmt: skip
from writestall.chain.parts import WAIT
from writestall.classify import classes as c

_WAIT, _DEVICE_IO, _OTHER = NUMBERS[WAIT], NUMBERS[c.DEVICE_IO], NUMBERS[c.OTHER]
_RUNNING, _UNEXPLAINED = NUMBERS[c.RUNNING], NUMBERS[c.UNEXPLAINED]
_SHORT_SLEEPS = NUMBERS[c.SHORT_SLEEPS]
# Whose I/O it is that a wait of this class ends with, where no task is seen with it.
_OWNERS = {
    c.JOURNAL_BUFFER: "jbd2",
    c.JOURNAL_TRANSACTION: "jbd2",
    c.JOURNAL_COMMIT_WAIT: "the journal",
    c.PAGE_WRITEBACK: "writeback",
}
_OWNER = tuple(OWNERS.index(_OWNERS.get(name, "")) for name in NUMBERS)


def put(
    parts: Column, at: int, kind: int, cls: int, path: int, task: int, start_ns: int,
    dur_ns: int, link: int, why: int, sleep: int,
) -> int:  # fmt: skip
    """Puts a part there, an explained root; returns where it ends."""
    parts[at + P_KIND], parts[at + P_CLS], parts[at + P_PATH] = kind, cls, path
    parts[at + P_TASK], parts[at + P_HOLDER] = task, NONE
    parts[at + P_START_NS], parts[at + P_DUR_NS] = start_ns, dur_ns
    parts[at + P_EXPLAINED_NS], parts[at + P_KNOWN] = dur_ns, 1
    parts[at + P_LINK], parts[at + P_WHY] = link, why
    parts[at + P_SLEEP], parts[at + P_ALSO] = sleep, NONE
    parts[at + P_OWNER], parts[at + P_SIZE] = 0, PART
    return at + PART


def _unexplained(parts: Column, at: int) -> None:
    """Makes a part one whose cause is not known."""
    parts[at + P_EXPLAINED_NS] = parts[at + P_KNOWN] = 0


def own_rest(
    t: Tables, frames: Column, parts: Column, end: int, writes: Column, write: int,
    blocks: int,
) -> int:  # fmt: skip
    """The write's time in no block: sleeps too short or lost, and running.

    The tracer counted every sleep of the call; what the blocks do not cover is
    short sleeps, as far as their number can hold it, else it was lost.
    """
    task, slept_ns = writes[write + W_TASK], writes[write + W_SLEPT_NS]
    awake_ns, asleep_ns = frames[F_AWAKE_NS], frames[F_ASLEEP_NS]
    missing_ns = min(max(max(slept_ns, 0) - asleep_ns, 0), awake_ns)
    most_ns = max(writes[write + W_SLEEPS] - blocks, 0) * t.floor_ns
    short_ns = min(missing_ns, most_ns)
    lost_ns = missing_ns - short_ns
    rest_ns = awake_ns - missing_ns
    if t.lossy or slept_ns == NONE:
        lost_ns, rest_ns = lost_ns + rest_ns, 0
    if short_ns:
        at, kind = end, _SHORT_SLEEPS
        end = put(
            parts, at, kind, _OTHER, 0, task, NONE, short_ns, LINK_SEEN, SHORT, NONE
        )
        _unexplained(parts, at)
    if lost_ns:
        at, kind = end, _UNEXPLAINED
        end = put(
            parts, at, kind, kind, 0, task, NONE, lost_ns, LINK_INFERRED, NO_EVENT, NONE
        )
        _unexplained(parts, at)
    if rest_ns:
        kind = _RUNNING
        end = put(
            parts, end, kind, kind, 0, task, NONE, rest_ns, LINK_INFERRED, AWAKE, NONE
        )
    return end


# A holder's time between its sleeps. A short gap between known sleeps is its own
# work; what a task did in a long one, no event tells.
def gap(
    t: Tables, parts: Column, at: int, task: int, completes: int, start_ns: int,
    end_ns: int,
) -> int:  # fmt: skip
    dur_ns = end_ns - start_ns
    kind, cls, why = _RUNNING, _RUNNING, BETWEEN
    if completes:
        kind, cls, why = _WAIT, _DEVICE_IO, IO_WORK
    known = kind == _WAIT or (dur_ns < t.floor_ns and not t.lossy)
    if not known:
        why = UNTRACED
    end = put(parts, at, kind, cls, 0, task, start_ns, dur_ns, LINK_INFERRED, why, NONE)
    if not known:
        _unexplained(parts, at)
    return end


def no_cause(parts: Column, at: int, why: int) -> int:
    """A wait whose class is known and whose cause is not."""
    task, below = parts[at + P_TASK], at + PART
    kind, start_ns, dur_ns = _UNEXPLAINED, parts[at + P_START_NS], parts[at + P_DUR_NS]
    end = put(
        parts, below, kind, kind, 0, task, start_ns, dur_ns, LINK_INFERRED, why, NONE
    )
    _unexplained(parts, below)
    parts[at + P_EXPLAINED_NS], parts[at + P_SIZE] = 0, end - at
    return end


def io_below(parts: Column, at: int, cls: int) -> int:
    """A wait that an I/O ended which no task is seen with: the device's time."""
    start_ns, dur_ns = parts[at + P_START_NS], parts[at + P_DUR_NS]
    below, task, link = at + PART, parts[at + P_TASK], parts[at + P_LINK]
    end = put(
        parts, below, _WAIT, _DEVICE_IO, 0, task, start_ns, dur_ns, link, IO_ENDED,
        parts[at + P_SLEEP],
    )  # fmt: skip
    parts[below + P_OWNER] = _OWNER[cls]
    parts[at + P_LINK], parts[at + P_WHY] = LINK_SEEN, NO_WORD
    parts[at + P_SIZE] = end - at
    return end


# A pause made on purpose is its own root; but a writer is throttled because writeback
# is slow, and while a flusher sleeps with its bios in its hands, that is why. The rest
# of the pause stays the pause's.
def pause(parts: Column, at: int, end: int) -> None:
    below = at + PART
    while below < end:
        size = parts[below + P_SIZE]
        if not parts[below + P_KNOWN]:
            start_ns, dur_ns = parts[below + P_START_NS], parts[below + P_DUR_NS]
            task, sleep = parts[at + P_TASK], parts[at + P_SLEEP]
            cls = parts[at + P_CLS]
            put(
                parts, below, _WAIT, cls, 0, task, start_ns, dur_ns, LINK_SEEN, TIMED,
                sleep,
            )  # fmt: skip
        below += size


# The wait ended with an I/O: the device's time, unless one task slept for most of the
# wait with the I/O in its hands. Then that task held things up, and what came after its
# last sleep is the device's.
def io_last(parts: Column, at: int, end: int) -> None:
    last = below = at + PART
    while below < end:
        last = below
        below += parts[below + P_SIZE]
    if parts[last + P_KIND] == _RUNNING:
        parts[last + P_KIND], parts[last + P_CLS] = _WAIT, _DEVICE_IO
        parts[last + P_WHY], parts[last + P_SLEEP] = IO_ENDED, parts[at + P_SLEEP]
        parts[last + P_KNOWN] = 1
        parts[last + P_EXPLAINED_NS] = parts[last + P_DUR_NS]
