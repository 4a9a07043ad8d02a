# SPDX-License-Identifier: GPL-2.0-only
"""parts: the records of a chain: a tree whose parts add up, in whole ns.

Structs, as events are: a run has millions of parts, and C makes and copies them.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from writestall.classify.owners import owner_name
from writestall.classify.stack import role
from writestall.events.contract import Stack, Write
from writestall_base import wait_classes as c

WAIT = "wait"
SEEN, INFERRED = "seen", "inferred"


class Task(Struct, frozen=True, gc=False, cache_hash=True):
    """Whose time it is.

    tid   its thread id; 0 where only `name` is known
    role  wait_classes.py
    name  who it acts for (classify/owners.py): jbd2, writeback, or its comm
    cgroup  the path of its cgroup, where an event has it
    """

    tid: int
    comm: str
    role: str = c.ROLE_OTHER
    name: str = ""
    cgroup: str | UnsetType = UNSET

    @property
    def thread(self) -> str:
        """Its name and thread id, as explain prints them."""
        return f"{self.comm}/{self.tid}"


def task_of(
    tid: int, comm: str | None, stack: Stack, cgroup: str | UnsetType = UNSET
) -> Task:
    """The task of an event, as its stack shows it."""
    comm = comm or "?"
    return Task(tid, comm, role(stack, comm), owner_name(stack, comm), cgroup)


class Cap(Struct, frozen=True, gc=False, cache_hash=True):
    """A limit of a cgroup on its I/O (io.max), which kept an I/O back.

    cgroup  its path
    op      what the I/O did: read or write
    """

    cgroup: str
    op: str


class Part(Struct, frozen=True, gc=False):
    """A stretch of a task's time, or an amount of it.

    kind       wait, running, runqueue, short_sleeps or unexplained
    cls        class of waiting; the kind itself where it is no wait
    start_ns   CLOCK_MONOTONIC; None for an amount that has no one place
    task       whose time; `holder` is who it waited for, where that is a task
    link       seen or inferred, and `why` in words; `evidence` are event ids
    parts      what the holder did meanwhile; they add up to dur_ns. A part without
               parts is a root: `explained` says whether its cause is known
    explained_ns  how much of it is explained: of a root all or nothing, else the sum
               of its parts'
    queue      tasks the lock was handed along by before its last holder had it, where
               merge.unqueued() made one part of their waits
    owner      who submitted the I/O that a device's time is, where not the task
    cap        what kept that I/O back from the device
    lock       the kind of lock that was waited for, and `named` the task that it named
               as its owner when the wait began, where known
    since_ns   when the holder had that lock (CLOCK_MONOTONIC): when it got it, or when
               the wait began and the lock named it; None where no event shows it, and
               of several waits
    """

    kind: str
    cls: str
    dur_ns: int
    task: Task
    start_ns: int | None = None
    link: str = SEEN
    why: str = ""
    path: tuple[str, ...] = ()
    holder: Task | None = None
    evidence: tuple[int, ...] = ()
    explained: bool = True
    parts: tuple[Part, ...] = ()
    explained_ns: int = 0
    waits: int = 1
    owner: Task | None = None
    queue: int = 0
    cap: Cap | None = None
    lock: str | None = None
    named: Task | None = None
    since_ns: int | None = None

    @property
    def submitter(self) -> Task:
        """Who submitted the I/O that a device's time is."""
        return self.owner or self.task

    def leaves(self) -> list[Part]:
        """The roots below this part, itself when nothing is."""
        return _leaves((self,), [])


class Chain(Struct, frozen=True, gc=False):
    """One stalled write and where its time went; the parts add up to its duration."""

    id: int
    write: Write
    task: Task
    parts: tuple[Part, ...]

    def leaves(self) -> list[Part]:
        """The roots of the whole write."""
        return _leaves(self.parts, [])

    @property
    def explained_ns(self) -> int:
        """How much of the write is explained, in ns."""
        return sum([part.explained_ns for part in self.parts])


def _leaves(parts: tuple[Part, ...], found: list[Part]) -> list[Part]:
    for part in parts:
        if part.parts:
            _leaves(part.parts, found)
        else:
            found.append(part)
    return found
