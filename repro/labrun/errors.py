# SPDX-License-Identifier: GPL-2.0-only
"""errors: exceptions that end a run, and the exit status of each."""

from __future__ import annotations

import signal

EXIT_COMPLETE = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2

EXIT_STATUSES = (
    (EXIT_COMPLETE, "the run is complete"),
    (EXIT_FAILED, "a step failed; the run directory says which and why"),
    (EXIT_REFUSED, "refused before anything was changed: scenario, machine or disk"),
    (128 + signal.SIGHUP, "interrupted by SIGHUP, everything undone"),
    (128 + signal.SIGINT, "interrupted by SIGINT (Ctrl-C), everything undone"),
    (128 + signal.SIGTERM, "interrupted by SIGTERM, everything undone"),
)


class RefusedError(Exception):
    """Bad input, a line for each mistake; nothing was changed."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class StepError(Exception):
    """A step failed; the reason in one line."""


class StoppedError(Exception):
    """A signal interrupted the run."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number
