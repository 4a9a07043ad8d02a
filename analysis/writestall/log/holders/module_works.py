# SPDX-License-Identifier: GPL-2.0-only
"""module_works: who ends waits for a work that no rule names, by its module, or where
that is built in, by the first word of its functions' names."""

from __future__ import annotations

from itertools import pairwise

from writestall.classify.frames import Frame
from writestall.log.holders import sections, works
from writestall.log.holders.around import Around
from writestall.log.holders.form import Holder, names
from writestall.log.stuck import POSSIBLE, Stuck
from writestall_base.wait_classes import WAIT_CLASSES

_RUNS = "process_one_work"
_SHORT = 2
# Words that functions of any part of the kernel begin with.
_ANY = frozenset("work do process run flush handle async delayed".split())


def _family(frame: Frame) -> str:
    """The module of a function; built in, the word that its name begins with."""
    word = frame.symbol.lstrip("_").partition("_")[0]
    return frame.module or (word if len(word) > _SHORT and word not in _ANY else "")


def _flushes(waiter: Stuck) -> str:
    """The module whose function flushes."""
    frames = iter(waiter.frames)
    found = any(works.FLUSHES.fullmatch(frame.symbol) for frame in frames)
    while found and (frame := next(frames, None)):
        if not works.FLUSHES.fullmatch(frame.symbol):
            return _family(frame)
    return ""


def _runs(task: Stuck) -> str:
    """The module whose work a worker runs."""
    frames = task.frames
    for inner, outer in pairwise(frames):
        if outer.symbol == _RUNS:
            return _family(inner)
    return ""


class _OfModule(Holder):
    """A worker that runs a work of the module that flushes: of several, the flush of
    their queue waits for each."""

    def asks(self, waiter: Stuck) -> bool:
        named = (*works.RULES, sections.RULE)
        return super().asks(waiter) and not any(rule.asks(waiter) for rule in named)

    def fitting(self, waiter: Stuck, around: Around) -> list[Stuck]:
        if not (module := _flushes(waiter)):
            return []
        found = around.showing(
            (id(self), module), (_RUNS,), lambda task: _runs(task) == module
        )
        return self._joined(waiter, found, around)


_RULE = _OfModule(
    "it runs a work of the module that flushes or cancels one",
    "kernel/workqueue.c __flush_work(): until the work's function, which "
    "process_one_work() calls, has returned",
    names(_RUNS),
    lock="the end of a work of one module",
    of=works.FLUSHES,
    confidence=POSSIBLE,
    any_right=True,
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = dict.fromkeys(WAIT_CLASSES, (_RULE,))
