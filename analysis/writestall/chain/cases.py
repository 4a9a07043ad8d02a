# SPDX-License-Identifier: GPL-2.0-only
"""cases: classify one kind of sleep by its stacks, once for all its sleeps."""

from __future__ import annotations

from dataclasses import replace

from msgspec import Struct

from writestall.chain.cgroups import Cgroups
from writestall.chain.parts import Task, task_of
from writestall.classify import endings as e
from writestall.classify.frames import Frame, parse_stack
from writestall.classify.interruptible import classify as classify_interruptible
from writestall.classify.interruptible import sends
from writestall.classify.stack import Verdict, classify
from writestall.events.contract import Block
from writestall_base import wait_classes as c

# How a wait goes on, by what ended it (docs/how-causes-are-inferred.md, step 3).
SUBMITTER, HOLDER, WAKER, PAUSE, DEVICE, INTERRUPT, UNKNOWN = (
    "submitter holder waker pause device interrupt unknown".split()
)
# The word for a holder that cannot be another (docs/events.md, `holder`).
OWNER = "owner"
# The state of a sleep outside file systems (docs/events.md, `state`).
INTERRUPTIBLE = "S"
# Ended by a timer, these are their own root: the kernel pauses the task on purpose,
# or the disk's driver keeps it.
_PAUSES = frozenset(
    (c.DIRTY_THROTTLE, c.MEMORY, c.BLOCK_QUEUE, c.DEVICE_IO, c.RAID_OR_DM)
)
# Ended by an interrupt that names no completion, these still ended with an I/O: what
# they wait for is released by a process, or by the end of an I/O, and by nothing else.
_ENDED_BY_IO = frozenset(c.WAIT_CLASSES) - {c.OTHER, c.DIRTY_THROTTLE, c.MEMORY}
# What these wait for is released by the end of an I/O: who ended it in a work of its
# own, or as another's interrupt, had no lock. mm/filemap.c, folio_end_writeback();
# fs/jbd2/commit.c, journal_end_buffer_io_sync().
_FOR_AN_IO = frozenset((c.PAGE_WRITEBACK, c.JOURNAL_BUFFER, c.DEVICE_IO))


class Case(Struct, frozen=True, gc=False):
    """What is the same in every sleep of one kind.

    task       who slept
    cls, path  what it waited for, as in classify.Verdict
    how        what ended it (endings.py)
    next_link  whom the chain goes to: SUBMITTER, HOLDER, ...
    for_an_io  another task may have held the I/O that it waited for
    for_one_io it waited for one certain I/O, not for the first of many to end
    submitter  it slept in the submission of its bio
    serves     and the bio was for a stacked disk, whose worker it is
    waker      who ended it, where that was a task
    completes  whoever ended it was ending an I/O
    releases   its stack shows it releasing what was waited for
    lock       what kind of lock it slept on, where known
    owner      the task that this lock named as its owner when the sleep began
    own_io     it waits for what it has submitted itself, by its stack
    stack      where it slept
    """

    task: Task
    cls: str
    path: tuple[str, ...]
    how: str
    next_link: str
    for_an_io: bool
    for_one_io: bool
    submitter: bool
    serves: bool
    waker: Task | None
    completes: bool
    releases: bool
    lock: str | None
    owner: Task | None
    own_io: bool
    stack: tuple[Frame, ...]


def case_of(block: Block, cgroups: Cgroups) -> Case:
    """The case of a kind of sleep, given as a Block."""
    interruptible = block.state == INTERRUPTIBLE
    if interruptible:
        verdict = classify_interruptible(block.kstack, block.ustack, block.lock_in)
    else:
        verdict = classify(block.kstack)
        if verdict.cls not in _PAUSES and e.pauses(block):
            verdict = replace(verdict, cls=c.TIMER)
    own_group = cgroups.of(block.cgroup, block.cgroup_v1)
    how = _ending(block, verdict)
    waker = None
    if how == e.TASK and block.waker_tid is not None:
        group = cgroups.of(block.waker_cgroup, block.waker_cgroup_v1)
        waker = task_of(block.waker_tid, block.waker_comm, block.waker_kstack, group)
    owner = None
    if block.holder == OWNER and block.holder_tid is not None:
        group = cgroups.of_thread(block.holder_tid)
        owner = task_of(block.holder_tid, block.holder_comm, (), group)
    submitter = not interruptible and e.is_submitter(block, verdict)
    completes = e.completes_io(block, verdict)
    next_link = (
        _interrupted(verdict.cls, how)
        if interruptible
        else _goes_on(verdict.cls, how, submitter, e.times_out(block))
    )
    return Case(
        task_of(block.tid, block.comm, block.kstack, own_group),
        verdict.cls,
        verdict.path,
        how,
        next_link,
        not interruptible and _is_for_an_io(verdict.cls, next_link, completes),
        verdict.cls in _FOR_AN_IO,
        submitter,
        e.serves(block, submitter),
        waker,
        completes,
        e.releases(block),
        block.lock,
        owner,
        verdict.cls == c.PAGE_WRITEBACK and e.submits_first(block),
        parse_stack(block.kstack),
    )


def _ending(block: Block, verdict: Verdict) -> str:
    """What ended a sleep; a message of a task is its, in whatever context it comes."""
    how = e.ending(block)
    if verdict.cls == c.MESSAGE and block.waker_tid and sends(block.waker_kstack):
        return e.TASK
    return how


def _interrupted(cls: str, how: str) -> str:
    """How an interruptible wait goes on."""
    if how == e.TIMER and cls == c.TIMER:
        return PAUSE
    if how in (e.TASK, e.TIMER) or cls == c.USER_LOCK:
        return WAKER
    if how == e.COMPLETION:
        return DEVICE
    return INTERRUPT if cls == c.MESSAGE and how == e.INTERRUPT else UNKNOWN


def _goes_on(cls: str, how: str, submitter: bool, timed_out: bool) -> str:
    """How a wait goes on, by its class and what ended it.

    A wait whose own time ran out says nothing of what it was for.
    """
    if submitter:
        return SUBMITTER
    if how == e.TASK:
        return HOLDER
    if how == e.TIMER and cls in (*_PAUSES, c.TIMER):
        return PAUSE
    if timed_out:
        return UNKNOWN
    if how == e.COMPLETION or (how != e.UNKNOWN and cls in _ENDED_BY_IO):
        return DEVICE
    if cls == c.DEVICE_IO and how != e.UNKNOWN:
        return INTERRUPT
    return UNKNOWN


def _is_for_an_io(cls: str, next_link: str, completes: bool) -> bool:
    """Whether another task may have held the I/O.

    A task that completed an I/O did not delay it, if another one held it.
    """
    if next_link == HOLDER:
        return completes and cls in _FOR_AN_IO
    return next_link == DEVICE or (next_link == PAUSE and cls == c.DIRTY_THROTTLE)
