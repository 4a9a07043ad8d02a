# SPDX-License-Identifier: GPL-2.0-only
"""errors: the exceptions that end a program, and the exit status of each."""

from __future__ import annotations

import signal

EXIT_COMPLETE = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2
INTERRUPTED = 128 + signal.SIGINT  # as shells have it


class UserError(Exception):
    """What is printed for a person: a line for each mistake, each with its remedy.

    Of this class itself: bad input or a missing part, and nothing was changed.
    """

    status: int = EXIT_REFUSED

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class StepError(UserError):
    """A step failed; the reason in one line."""

    status = EXIT_FAILED


class StoppedError(UserError):
    """A signal interrupted the run."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signal_number).name}")
        self.status = 128 + signal_number
