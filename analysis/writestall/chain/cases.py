# SPDX-License-Identifier: GPL-2.0-only
"""cases: turns a kind of sleep into what its stacks say, once for all its sleeps."""

from __future__ import annotations

from msgspec import Struct

from writestall.chain.parts import Task
from writestall.classify import endings as e
from writestall.classify.frames import Frame, parse_stack
from writestall.classify.stack import classify, role
from writestall.events.contract import Block


class Case(Struct, frozen=True, gc=False):
    """What is the same in every sleep of one kind.

    task       who slept
    cls, path  what it waited for, as in classify.Verdict
    how        what ended it (endings.py)
    submitter  it slept on the way down into the disk, its bio in its hands
    serves     and the bio was for a stacked disk, whose worker it is
    waker      who ended it, where that was a task
    completes  whoever ended it was ending an I/O
    releases   its stack shows it letting go of what was waited for
    stack      where it slept
    """

    task: Task
    cls: str
    path: tuple[str, ...]
    how: str
    submitter: bool
    serves: bool
    waker: Task | None
    completes: bool
    releases: bool
    stack: tuple[Frame, ...]


def case_of(block: Block) -> Case:
    """What a kind's Block says."""
    verdict = classify(block.kstack)
    own = role(block.kstack, block.comm)
    how = e.ending(block)
    waker = None
    if how == e.TASK and block.waker_tid is not None:
        comm = block.waker_comm or "?"
        waker = Task(block.waker_tid, comm, role(block.waker_kstack, comm))
    submitter = e.is_submitter(block, verdict)
    return Case(
        Task(block.tid, block.comm or "?", own),
        verdict.cls,
        verdict.path,
        how,
        submitter,
        e.serves(block, submitter),
        waker,
        e.completes_io(block, verdict),
        e.releases(block),
        parse_stack(block.kstack),
    )
