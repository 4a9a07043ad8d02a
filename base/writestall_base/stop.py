# SPDX-License-Identifier: GPL-2.0-only
"""stop: handle signals for a while, or remember them until the next safe point.

A handler that raised an exception could do so between a mount and the note that it
must be undone. So it only stores the signal, and steps check it. Further signals are
ignored: undoing is bounded in time and must not be interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from writestall_base.errors import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


Handler = Callable[[int, FrameType | None], Any] | signal.Handlers


@contextmanager
def handled(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Handle signals in these ways meanwhile, and as before then."""
    before = {one: signal.signal(one, how) for one, how in handlers.items()}
    try:
        yield
    finally:
        for one, how in before.items():
            signal.signal(one, how)


class Stop:
    """The first signal that arrived, if any; it is answered with a line on stderr."""

    def __init__(self, answer: str = "repro/run: {}: undoing, please wait") -> None:
        self._answer = answer
        self.number: int | None = None

    def install(self) -> None:
        """Catch the signals until the process ends."""
        for number in SIGNALS:
            signal.signal(number, self._remember)

    def ignore(self) -> None:
        """Ignore the signals from now on: everything is undone.

        Python gives up its own handlers while it exits (Modules/signalmodule.c,
        _PySignal_Fini()), and a signal would end a complete run with its status.
        """
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def uninstall(self) -> None:
        """Let signals end the process again."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number
            line = self._answer.format(signal.Signals(number).name)
            # print() may be what the signal interrupted; it is not reentrant.
            with suppress(OSError):
                os.write(sys.stderr.fileno(), f"{line}\n".encode() if line else b"")

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self.number is not None

    def check(self) -> None:
        """Raise StoppedError if a signal has arrived."""
        if self.number is not None:
            raise StoppedError(self.number)
