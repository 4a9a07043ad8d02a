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


def _family(frame: Frame) -> str:
    """The module of a function; built in, the word that its name begins with."""
    word = frame.symbol.lstrip("_").partition("_")[0]
    return frame.module or (word if len(word) > _SHORT and word not in _ANY else "")


def _asked(waiter: Stuck, sleeps: re.Pattern[str]) -> str:
    """The module whose function flushes a work, or stops a thread."""
    frames = iter(waiter.frames)
    found = any(sleeps.fullmatch(frame.symbol) for frame in frames)
    while found and (frame := next(frames, None)):
        if not sleeps.fullmatch(frame.symbol):
            return _family(frame)
    return ""


def _runs(task: Stuck, caller: re.Pattern[str]) -> str:
    """The module whose work a worker runs, or whose thread a task is."""
    for inner, outer in pairwise(task.frames):
        if caller.fullmatch(outer.symbol):
            return _family(inner)
    return ""


class _OfModule(Holder):
    """A worker that runs a work of the module that flushes, or its thread."""

    def asks(self, waiter: Stuck) -> bool:
        named = (*works.RULES, *threads.RULES, sections.RULE)
        return super().asks(waiter) and not any(rule.asks(waiter) for rule in named)

    def fitting(self, waiter: Stuck, around: Around) -> list[Stuck]:
        module = self.of and _asked(waiter, self.of)
        if not module:
            return []
        found = around.showing(
            (id(self), module),
            self.shows.pattern.split("|"),
            lambda task: _runs(task, self.shows) == module,
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
HOLDERS: dict[str, tuple[Holder, ...]] = dict.fromkeys(
    WAIT_CLASSES, (_RULE, _QUEUE_RULE, _THREAD_RULE)
)
