# SPDX-License-Identifier: GPL-2.0-only
"""lines: a tracer's pipe to its lines, signals attended to between them."""

from __future__ import annotations

import os
import select
import signal
from typing import IO


class Lines:
    """What a pipe holds, line by line.

    A signal that comes just before a read(2), or to another thread, does not interrupt
    it, and its Python handler would wait for the next line. So what is waited for is
    the pipe or a signal (signal.set_wakeup_fd() in Python's documentation).
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._held = b""  # read, not yet taken
        self._hears, tells = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(tells, warn_on_full_buffer=False)

    def wait(self, patience_s: float | None = None) -> bool:
        """Return at the next data, signal or the end of patience; False: closed."""
        watched: list[IO[bytes] | int] = [self._pipe, self._hears]
        ready, _, _ = select.select(watched, [], [], patience_s)
        if self._hears in ready:
            os.read(self._hears, 512)
        return self._pipe not in ready or self._read()

    def empty(self) -> None:
        """Leave nothing in the pipe."""
        while select.select([self._pipe], [], [], 0)[0] and self._read():
            pass

    def take(self) -> list[bytes]:
        """Every complete line so far, without its end."""
        *whole, self._held = self._held.split(b"\n")
        return whole

    def _read(self) -> bool:
        data = os.read(self._pipe.fileno(), 1 << 20)
        self._held += data
        return bool(data)
