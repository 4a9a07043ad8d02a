# SPDX-License-Identifier: GPL-2.0-only
"""signals: raise KeyboardInterrupt on SIGTERM and SIGHUP, as Ctrl-C does."""

from __future__ import annotations

import signal
from types import FrameType


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def end_in_order() -> None:
    """From now on, these signals unwind the stack, so that cleanup runs."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
