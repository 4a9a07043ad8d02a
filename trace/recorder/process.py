# SPDX-License-Identifier: GPL-2.0-only
"""process: the process that --pid chose, and whether it has ended.

A pidfd stands for one process: its number may be another's later (pidfd_open(2)).
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager

from writestall_base.errors import UserError


class Process:
    """A process that is held by its pidfd."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid, self._pidfd = pid, pidfd

    def ended(self) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(0))


@contextmanager
def held(pid: int | None) -> Iterator[Process | None]:
    """The process, None where none was chosen; raise UserError if it is gone."""
    if pid is None:
        yield None
        return
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        raise UserError(f"--pid {pid}: no such process; ps -e lists them") from None
    try:
        yield Process(pid, pidfd)
    finally:
        os.close(pidfd)
