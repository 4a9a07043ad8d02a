# SPDX-License-Identifier: GPL-2.0-only
"""lines: read the lines of a tracer's pipe, and handle signals between them."""

from __future__ import annotations

import os
import select
import signal
from typing import IO

# What a pipe holds at most, if nobody asked for more (pipe(7)).
PIPE_BYTES = 1 << 16


class Lines:
    """The lines of a pipe.

    A signal that comes just before a read(2), or to another thread, does not interrupt
    it, and its Python handler would wait for the next line. So wait for the pipe or a
    signal (signal.set_wakeup_fd() in Python's documentation).
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._held = b""  # read, not yet taken
        self._wakeup_reader, wakeup_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)

    def wait(self, patience_s: float | None = None) -> bool:
        """Return at the next data or signal, or after patience_s; False: closed."""
        both = [self._pipe.fileno(), self._wakeup_reader]
        ready, _, _ = select.select(both, [], [], patience_s)
        if self._wakeup_reader in ready:
            os.read(self._wakeup_reader, 512)
        return self._pipe.fileno() not in ready or self._read()

    def take(self) -> list[bytes]:
        """Return every complete line so far, without its newline."""
        *whole, self._held = self._held.split(b"\n")
        return whole

    def _read(self) -> bool:
        data = os.read(self._pipe.fileno(), PIPE_BYTES)
        self._held += data
        return bool(data)
