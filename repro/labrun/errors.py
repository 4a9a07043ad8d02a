# SPDX-License-Identifier: GPL-2.0-only
"""errors: what can end a run to one line, a manifest status and an exit status."""

from __future__ import annotations

import signal

EXIT_COMPLETE = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2

EXIT_STATUSES = (
    (EXIT_COMPLETE, "the run is complete"),
    (EXIT_FAILED, "a step failed; the run directory says which and why"),
    (EXIT_REFUSED, "refused before anything was touched: scenario, machine or disk"),
    (128 + signal.SIGHUP, "cut off by SIGHUP, undone in order"),
    (128 + signal.SIGINT, "cut off by SIGINT (Ctrl-C), undone in order"),
    (128 + signal.SIGTERM, "cut off by SIGTERM, undone in order"),
)


class RefusedError(Exception):
    """Bad input, told in one line each; nothing was touched."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class StepError(Exception):
    """A step that could not be done, in one line."""


class StoppedError(Exception):
    """A signal asked for the end."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number
