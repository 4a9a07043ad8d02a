# SPDX-License-Identifier: GPL-2.0-only
"""stop: SIGINT, SIGTERM and SIGHUP to an StoppedError at the next safe point.

A handler that raised at once could do so between a mount and the note that it
must be undone. So it only remembers; steps ask. A second signal changes nothing:
undoing is bounded in time and must not be cut short.
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
    """Remembers the first signal that asked for the end."""

    def __init__(self) -> None:
        self._signal_number: int | None = None

    def install(self) -> None:
        """Catch the signals from here to the end of the process."""
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
        """True once a signal came."""
        return self._signal_number is not None

    def check(self) -> None:
        """Raise StoppedError once a signal came."""
        if self._signal_number is not None:
            raise StoppedError(self._signal_number)
