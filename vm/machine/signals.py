# SPDX-License-Identifier: GPL-2.0-only
"""signals: SIGTERM and SIGHUP to the exception that Ctrl-C already is."""

from __future__ import annotations

import signal
from types import FrameType

INTERRUPTED = 130


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def end_in_order() -> None:
    """From now on, being told to end unwinds the stack and cleans up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
