# SPDX-License-Identifier: GPL-2.0-only
"""module_works: who ends waits for a work or thread that no rule names, by its module,
or where that is built in, by the first word of its functions' names."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from writestall.classify.frames import Frame
from writestall.log.holders import sections, threads, works
from writestall.log.holders.around import Around
from writestall.log.holders.form import Holder, names
from writestall.log.stuck import POSSIBLE, Stuck
from writestall_base.wait_classes import WAIT_CLASSES

_RUNS, _THREAD = "process_one_work", "kthread"
_SHORT = 2
_QUEUES = names("flush_workqueue __flush_workqueue drain_workqueue destroy_workqueue")
# Words that functions of any part of the kernel begin with.
_ANY = frozenset("work do process run flush handle async delayed".split())


def _families(frame: Frame | None) -> frozenset[str]:
    """The module of a function, and the word that its name begins with: of a frame that
    a mailer wrapped, the module is not there."""
    if frame is None:
        return frozenset()
    word = frame.symbol.lstrip("_").partition("_")[0]
    known = word if len(word) > _SHORT and word not in _ANY else ""
    return frozenset(filter(None, (frame.module, known)))


def _asks(waiter: Stuck, sleeps: re.Pattern[str]) -> Frame | None:
    """The function that flushes a work, or stops a thread."""
    frames = iter(waiter.frames)
    found = any(sleeps.fullmatch(frame.symbol) for frame in frames)
    rest = (frame for frame in frames if not sleeps.fullmatch(frame.symbol))
    return next(rest, None) if found else None


def _runs(task: Stuck, caller: re.Pattern[str]) -> Frame | None:
    """The function of the work that a worker runs, or of a thread."""
    pairs = pairwise(task.frames)
    return next((fn for fn, outer in pairs if caller.fullmatch(outer.symbol)), None)


def _are_one(asks: Frame | None, runs: Frame | None) -> bool:
    """True for functions of one module; where only one names it, of one first word."""
    if asks is None or runs is None:
        return False
    if asks.module and runs.module:
        return asks.module == runs.module
    return bool(_families(asks) & _families(runs))


class _OfModule(Holder):
    """A worker that runs a work of the module that flushes, or its thread."""

    def asks(self, waiter: Stuck) -> bool:
        named = (*works.RULES, *threads.RULES, sections.RULE)
        return super().asks(waiter) and not any(rule.asks(waiter) for rule in named)

    def fitting(self, waiter: Stuck, around: Around) -> list[Stuck]:
        asks = self.of and _asks(waiter, self.of)
        if not asks:
            return []
        found = around.showing(
            (id(self), asks.symbol, asks.module),
            self.shows.pattern.split("|"),
            lambda task: _are_one(asks, _runs(task, self.shows)),
        )
        return self._joined(waiter, found, around)


_RULE = _OfModule(
    "it runs a work of the module that flushes or cancels one",
    "kernel/workqueue.c __flush_work(): until the work's function, which "
    "process_one_work() calls, has returned",
    names(_RUNS),
    lock="the end of a work of one module",
    of=works.FLUSHES,
    caller=works.FLUSHES,
    not_caller=_QUEUES,
    confidence=POSSIBLE,
    pool=True,
    stacked=True,
)
# kernel/workqueue.c __flush_workqueue(): until all works of the queue are done.
_QUEUE_RULE = replace(_RULE, caller=_QUEUES, not_caller=None, any_right=True)
_THREAD_RULE = replace(
    _RULE,
    why="it is a thread of the module that is to end one",
    source="kernel/kthread.c kthread_stop(): until the thread's function, which "
    "kthread() calls, has returned",
    shows=names(_THREAD),
    lock="the end of a thread of one module",
    of=threads.STOPS,
    caller=threads.STOPS,
    not_caller=None,
    pool=False,
)
RULES = (_RULE, _QUEUE_RULE, _THREAD_RULE)
HOLDERS: dict[str, tuple[Holder, ...]] = dict.fromkeys(WAIT_CLASSES, RULES)
