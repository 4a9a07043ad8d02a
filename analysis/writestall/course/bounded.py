# SPDX-License-Identifier: GPL-2.0-only
"""bounded: call a function in a copy of this process that has little memory and time.

A run that a student hands in is a stranger's: what it makes of the reader ends there.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from writestall_base.errors import UserError

MOST_BYTES, MOST_S = 4 << 30, 120
T = TypeVar("T")


def call(function: Callable[[], T]) -> T:
    """What a function returns; any failure of it is a UserError."""
    copies = multiprocessing.get_context("fork")
    here, there = copies.Pipe(duplex=False)
    child = copies.Process(target=_tell, args=(function, there))
    child.start()
    there.close()
    try:
        if not here.poll(MOST_S):
            raise UserError(f"not judged within {MOST_S} s")
        value, why = here.recv()
    except EOFError:
        raise UserError("the process that judged it was killed") from None
    finally:
        child.kill()
        child.join()
        here.close()
    if why:
        raise UserError(why)
    found: T = value
    return found


def _tell(function: Callable[[], T], there: Connection) -> None:
    """Call it within the bounds; send what it returns, or why it did not."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    # Readers start a process for each further CPU.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        there.send((function(), ""))
    except UserError as error:
        there.send((None, str(error)))
    except Exception as error:  # whatever a stranger's run makes of the readers
        there.send((None, f"cannot be judged: {type(error).__name__} {error}"))
