# SPDX-License-Identifier: GPL-2.0-only
"""columns: says which numbers tell sleeps, writes and parts, and where they stand.

What the walk reads and writes are whole numbers in flat arrays, a record being some of
them in a row. Such code is the same as Python and, for long runs, as machine code
(machine.py). A name in capitals is a number's place in its record; the record's own
name is how many it has.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple

from writestall.chain.parts import WAIT
from writestall.chain.roots import THE_WRITER as WRITER
from writestall.classify import classes as c
from writestall.classify import endings as e

Column = MutableSequence[int]
NONE = -1

# Classes and kinds of parts, endings, and whose I/O it is: each by its number.
NAMES = (
    *c.WAIT_CLASSES, c.RUNNING, c.RUNQUEUE, c.SHORT_SLEEPS, c.UNEXPLAINED, WAIT
)  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(NAMES)}
ENDINGS = (e.TASK, e.COMPLETION, e.TIMER, e.INTERRUPT, e.UNKNOWN)
OWNERS = ("", "jbd2", "the journal", "writeback")
# Words that are known by their number; who a leaf's OWNER is comes first.
WORDS = (*OWNERS, WRITER)
THE_WRITER = WORDS.index(WRITER)

# A kind of sleep (cases.Case): places in the ledger's lists, or what they are.
C_TASK, C_CLS, C_PATH, C_HOW, C_SUBMITS, C_WAKER, C_COMPLETES, C_RELEASES = range(8)
C_STACK, C_NAMES, CASE = 8, 9, 10
# A task: its thread, counted from 0, and where that one's sleeps begin and end; words
# for its name, for who it is as a root, and for its disk, 0 where its name tells none.
T_THREAD, T_FIRST, T_STOP, T_COMM, T_WHO, T_DISK, TASK = range(7)
# A stalled write; unknown slept_ns are NONE, its disk is a word.
W_ID, W_START_NS, W_DUR_NS, W_SLEEPS, W_SLEPT_NS, W_TASK, W_DISK, WRITE = range(8)
# A part (parts.Part). Its first evidence is a sleep, and so is another beside it. SIZE
# are the numbers it takes, with all the parts below it, which follow it. LAST, LIFTED
# and STEP are for those who count them (tally.py).
P_KIND, P_CLS, P_PATH, P_TASK, P_HOLDER, P_START_NS, P_DUR_NS, P_EXPLAINED_NS = range(8)
P_LINK, P_WHY, P_SLEEP, P_ALSO, P_KNOWN, P_OWNER, P_SIZE, P_LAST = range(8, 16)
P_LIFTED, P_STEP, PART = 16, 17, 18
LINK_SEEN, LINK_INFERRED = 0, 1
# Sets of sleeps: who has an I/O in its hands; the journal's, also where it waits for
# what it has sent; a flusher's; a stacked disk's; and who waits for room in the log.
SUBMITTERS, JOURNAL, FLUSHERS, SERVERS, LOG_QUEUE, SETS = range(6)
# Why, by its number. COMPLETED + a task: that one completed it.
WHY = (
    "",
    "asleep on the bio's way down",
    "ended by an interrupt",
    "ended by a timer",
    "ended by the completion of an I/O",
    "who ended the wait is not known",
    "waits for itself: a circle of wake-ups",
    "the chain is too long to follow",
    "asleep with the I/O in its hands",
    "it ended the wait",
    "the wake-up did not help; this one ended the next wait for it",
    "it ended the wait of one that stood before it in the queue",
    "woken, waiting for a CPU",
    "its work began with the end of an I/O",
    "between its sleeps",
    "in no sleep that was traced",
    "no event tells what it did",
    "in no sleep: on a CPU, or preempted",
    "sleeps shorter than {floor_ms:g} ms, in sum",
    "its I/O was completed by {comm}",
)
(
    NO_WORD, ON_ITS_WAY, INTERRUPTED, TIMED, IO_ENDED, NOT_KNOWN, CIRCLE, TOO_LONG,
    WITH_IO, ENDED_IT, NO_HELP, AHEAD, WOKEN, IO_WORK, BETWEEN, UNTRACED, NO_EVENT,
    AWAKE, SHORT, COMPLETED,
) = range(len(WHY))  # fmt: skip


class Tables(NamedTuple):
    """All that the walk reads. Sleeps are places in the first five.

    ids, kinds, t_ns, dur_ns, runq_ns  as in blocks.Blocks
    cases, tasks   records
    listed         sleeps of the SETS, by time
    longer         for each of these the place of the nearest one before it that lasts
                   beyond it, NONE if there is none
    edges          where the sets begin in them, and where the last one ends
    floor_ns       shorter sleeps are not traced
    lossy          1 where events were lost
    """

    ids: Column
    kinds: Column
    t_ns: Column
    dur_ns: Column
    runq_ns: Column
    cases: Column
    tasks: Column
    listed: Column
    longer: Column
    edges: Column
    floor_ns: int
    lossy: int


# A frame of the walk: a wait that is followed, the first one the write itself. What its
# holder did is told edge by edge: STEP is three times a sleep, and 1 or 2 more.
# BEST is its part, PART the one that the answer being made is put in. AGAIN, AHEAD and
# TRIED say whom to ask next. The last three are the first one's: how long the write was
# in no sleep and asleep, and how many waits may still be followed.
F_MODE, F_PART, F_BEST, F_SLEEP, F_START_NS, F_END_NS, F_HOLDER, F_COMPLETES = range(8)
F_LINK, F_WHY, F_STEP, F_STOP, F_AT_NS, F_AGAIN, F_AHEAD, F_TRIED, F_ALSO = range(8, 17)
F_AWAKE_NS, F_ASLEEP_NS, F_BUDGET, FRAME = range(17, 21)
# What a thread's sleeps cover of a wait: by its last task (1 is the first one, 0 that
# there is none), from which place on; NEXT is the thread before it.
V_NS, V_TASK, V_FIRST, V_NEXT, COVER = range(5)


class Scratch(NamedTuple):
    """What the walk writes: frames, the parts, and a COVER of zeros for each thread."""

    frames: Column
    parts: Column
    covers: Column
