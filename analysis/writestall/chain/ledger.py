# SPDX-License-Identifier: GPL-2.0-only
"""ledger: turns a stream's sleeps and writes into the numbers that the walk is fed.

What a number stands for is in the lists beside them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from writestall.chain import search, walk
from writestall.chain.cases import Case, case_of
from writestall.chain.columns import (
    COMPLETED,
    COVER,
    ENDINGS,
    FRAME,
    NONE,
    NUMBERS,
    PART,
    SHORT,
    WHY,
    WORDS,
    Column,
    Scratch,
    Tables,
)  # fmt: skip
from writestall.chain.parts import Task
from writestall.chain.roots import Roots, journal_disk, who
from writestall.classify import classes as c
from writestall.classify.frames import Frame
from writestall.classify.stack import role
from writestall.common import machine_code
from writestall.events.blocks import Blocks
from writestall.events.contract import Stack, Write

T = TypeVar("T", bound=Hashable)
# Every sleep ends in the first two, every system call or kernel thread begins with
# some of the others: they tell nothing apart. arch/x86/entry/, kernel/kthread.c
# kthread(), kernel/workqueue.c worker_thread() and process_one_work().
_EVERYWHERE = frozenset(
    """
    __schedule schedule
    entry_SYSCALL_64_after_hwframe entry_SYSCALL_64 do_syscall_64 x64_sys_call
    ret_from_fork ret_from_fork_asm kthread worker_thread process_one_work
    process_scheduled_works
    """.split()
)
# More sleeps than these no write counts, and no floor is longer in ns.
MOST = 2**31 - 1
FEW_PARTS = 256
# The SETS of columns.py, in their order.
_SETS: tuple[Callable[[Case], bool], ...] = (
    lambda case: case.submitter,
    lambda case: case.task.role == c.JOURNAL and case.cls == c.DEVICE_IO,
    lambda case: case.submitter and case.task.role == c.WRITEBACK,
    lambda case: case.serves,
    lambda case: case.cls == c.LOG_SPACE,
)


class Known(Generic[T]):
    """Values, each with a number from 0."""

    def __init__(self, *values: T) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}
        for value in values:
            self.number(value)

    def number(self, value: T) -> int:
        """The number of a value, a new one if need be."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Ledger:
    """A stream in numbers.

    tasks, paths, names, words  what the numbers of a task, of functions (0 is none), of
                                a whole stack and of names stand for
    fast                        the numbers are for machine code
    """

    def __init__(self, blocks: Blocks, floor_ns: int, lossy: bool) -> None:
        self.blocks, self.floor_ns, self._lossy = blocks, floor_ns, lossy
        self.tasks: Known[Task] = Known()
        self.paths: Known[tuple[str, ...]] = Known(())
        self.names: Known[tuple[str, ...]] = Known(())
        self.words: Known[str] = Known(*WORDS)
        self._stacks: Known[tuple[Frame, ...]] = Known()
        self._threads: Known[int] = Known()
        self._writers: dict[tuple[int, str | None, Stack], int] = {}
        self.fast = machine_code.worth(len(blocks)) and _small(blocks, floor_ns)
        cases = [case_of(like) for like in blocks.likes]
        numbers = array("q")
        for case in cases:
            numbers.extend(self._case(case))
        self._tables = self._made(numbers, *_listed(blocks, cases, self.fast))
        if self.fast:
            machine_code.code(search).fill_longer(self._tables)
        else:
            search.fill_longer(self._tables)
        self._told_tasks = 0

    def _made(self, cases: array[int], listed: array[int], edges: array[int]) -> Tables:
        blocks, longer = self.blocks, array("i", bytes(4 * len(listed)))
        columns = (
            blocks.ids, blocks.kinds, blocks.t_ns, blocks.dur_ns, blocks.runq_ns, cases,
            array("q"), listed, longer, edges,
        )  # fmt: skip
        given = map(self.given, columns)
        return Tables._make((*given, self.floor_ns, int(self._lossy)))

    def _case(self, case: Case) -> Iterable[int]:
        waker = NONE if case.waker is None else self.tasks.number(case.waker)
        return (
            self.tasks.number(case.task), NUMBERS[case.cls],
            self.paths.number(case.path), ENDINGS.index(case.how), case.submitter,
            waker, case.completes, case.releases, self._stacks.number(case.stack),
            self.names.number(functions(case.stack)),
        )  # fmt: skip

    def writes(
        self, rows: Iterable[tuple[int, Write]], roots: Roots | None = None
    ) -> array[int]:
        """Records of some writes; their disks are what `roots` knows of them."""
        numbers = array("q")
        disks = _Disks(self.words, roots)
        for id, write in rows:
            slept_ns = NONE if write.slept_ns is None else write.slept_ns
            sleeps = min(max(write.sleeps or 0, 0), MOST)
            task, disk = self._writer(write), disks[write.dev]
            numbers.extend((id, write.t_ns, write.dur_ns, sleeps, slept_ns, task, disk))
        return numbers

    def _writer(self, write: Write) -> int:
        key = (write.tid, write.comm, write.kstack)
        known = self._writers.get(key)
        if known is None:
            task = Task(write.tid, write.comm or "?", role(write.kstack, write.comm))
            known = self._writers[key] = self.tasks.number(task)
        return known

    def why(self, number: int) -> str:
        """The words of a WHY."""
        if number < SHORT:
            return WHY[number]
        if number == SHORT:
            return WHY[SHORT].format(floor_ms=self.floor_ns / 1e6)
        return WHY[COMPLETED].format(comm=self.tasks.values[number - COMPLETED].comm)

    def tables(self) -> Tables:
        """The tables, with all tasks that are known so far."""
        tasks = self.tasks.values
        if len(tasks) != self._told_tasks:
            numbers = array("q")
            for task in tasks:
                own = self.blocks.tasks.get(task.tid, range(0))
                names = (task.comm, who(task), journal_disk(task.comm) or "")
                numbers.extend((self._threads.number(task.tid), own.start, own.stop))
                numbers.extend(map(self.words.number, names))
            self._tables = self._tables._replace(tasks=self.given(numbers))
            self._told_tasks = len(tasks)
        return self._tables

    @property
    def threads(self) -> int:
        """How many the tables know."""
        return len(self._threads.values)

    def scratch(self, parts: int) -> Scratch:
        """What a walk needs that makes no more than so many parts."""
        frames = FRAME * (walk.MAX_DEPTH + 2)
        covers = COVER * self.threads
        return Scratch(*map(self.blank, (frames, PART * parts, covers)))

    def blank(self, numbers: int) -> Column:
        """So many zeros."""
        return self.given(array("q", bytes(8 * numbers)))

    def given(self, column: array[int]) -> Column:
        """A column as the code that takes it wants it."""
        return machine_code.view(column) if self.fast else column


class _Disks(dict[str | None, int]):
    """The word for the disk of each number of a device."""

    def __init__(self, words: Known[str], roots: Roots | None) -> None:
        super().__init__()
        self._words, self._roots = words, roots

    def __missing__(self, dev: str | None) -> int:
        word = self._words.number(self._roots.disk(dev) if self._roots else "")
        self[dev] = word
        return word


def functions(stack: Sequence[Frame]) -> tuple[str, ...]:
    """The functions of a stack that tell it apart, outermost first."""
    names = (frame.symbol for frame in reversed(stack))
    return tuple(name for name in names if name not in _EVERYWHERE)


def _small(blocks: Blocks, floor_ns: int) -> bool:
    """True where sums of times stay within a signed 64-bit integer."""
    columns = (blocks.t_ns, blocks.dur_ns, blocks.runq_ns)
    most_ns = sum(max(column, default=0) for column in columns)
    return most_ns < machine_code.MOST_NS and floor_ns <= MOST


def _listed(
    blocks: Blocks, cases: Sequence[Case], fast: bool
) -> tuple[array[int], array[int]]:
    """The sleeps of the sets by time, and where each set begins."""
    listed, edges = array("I"), array("q", [0])
    chosen = _chosen_fast if fast else _chosen
    for belongs in _SETS:
        listed += chosen(blocks, [belongs(case) for case in cases])
        edges.append(len(listed))
    return listed, edges


def _chosen(blocks: Blocks, wanted: list[bool]) -> array[int]:
    """The sleeps of some kinds, by time."""
    chosen = [at for at, kind in enumerate(blocks.kinds) if wanted[kind]]
    chosen.sort(key=blocks.t_ns.__getitem__)
    return array("I", chosen)


def _chosen_fast(blocks: Blocks, wanted: list[bool]) -> array[int]:
    import numpy as np

    kinds, t_ns = machine_code.view(blocks.kinds), machine_code.view(blocks.t_ns)
    chosen: Any = np.flatnonzero(np.array(wanted, bool)[kinds])
    order = np.argsort(t_ns[chosen], kind="stable")
    return array("I", chosen[order].astype("I").tobytes())
