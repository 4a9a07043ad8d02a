# SPDX-License-Identifier: GPL-2.0-only
"""stop: remember SIGINT, SIGTERM and SIGHUP until the next safe point.

A handler that raised an exception could do so between a mount and the note that it
must be undone. So it only stores the signal, and steps check it. Further signals are
ignored: undoing is bounded in time and must not be interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from labrun.errors import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """The first signal that arrived, if any."""

    def __init__(self) -> None:
        self._signal_number: int | None = None

    def install(self) -> None:
        """Catch the signals until the process ends."""
        for number in SIGNALS:
            signal.signal(number, self._remember)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        if self._signal_number is None:
            self._signal_number = number
            line = f"repro/run: {signal.Signals(number).name}: undoing, please wait\n"
            # print() may be what the signal interrupted; it is not reentrant.
            with suppress(OSError):
                os.write(sys.stderr.fileno(), line.encode())

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._signal_number is not None

    def check(self) -> None:
        """Raise StoppedError if a signal has arrived."""
        if self._signal_number is not None:
            raise StoppedError(self._signal_number)
