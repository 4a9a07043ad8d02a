# SPDX-License-Identifier: GPL-2.0-only
"""workers: run parts of a job in copies of this process, one for each CPU."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from writestall_base.errors import UserError

# Each takes memory of its own.
MOST = 4
P = TypeVar("P")
T = TypeVar("T")


def count(work: int, worth: int) -> int:
    """How many processes: each of them is to have that much of the work."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return max(1, min(cpus, MOST, work // worth))


def each(call: Callable[[P], T], parts: Sequence[P]) -> list[T]:
    """A call for each part, the first in this process, the others in copies of it.

    What they return, or raise, is sent back; what they are asked need not be sent.
    """
    first, *others = parts
    # Events and chains form no cycles, and what processes share must not be touched.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return [call(first)] if not others else _forked(call, first, others)
    finally:
        if collecting:
            gc.enable()


def _forked(call: Callable[[P], T], first: P, others: Sequence[P]) -> list[T]:
    # These take longer to load than a short run to explain.
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    copies = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(len(others), copies, _held.append, (call,)) as pool:
            found = [pool.submit(_call, part) for part in others]
            return [call(first), *(one.result() for one in found)]
    except BrokenProcessPool:
        raise UserError(
            "one of the processes that share the work was killed: out of memory?"
        ) from None


_held: list[Callable[[Any], Any]] = []


def _call(part: Any) -> Any:
    return _held[-1](part)
