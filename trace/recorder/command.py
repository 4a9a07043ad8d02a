# SPDX-License-Identifier: GPL-2.0-only
"""command: hold a command until it is traced, let it run, keep its exit status.

Its stdin, stdout, stderr and terminal are those that record was started with.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from labrun.errors import RefusedError
from labrun.stop import Stop

# The shell has the pid that the command keeps. Without a word it has been given up.
HELD = 'read -r go <&{0} && exec {0}<&- && exec "$@"'
PATIENCE_S = 0.5  # a signal is handled within


class Command:
    """A command that waits to be let go."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = list(argv)
        self.begun = False
        hears, self._tells = os.pipe()
        low = os.dup2(hears, _free_digit(), inheritable=True)
        os.close(hears)
        held = ["sh", "-c", HELD.format(low), "sh", *argv]
        # What record inherited goes on to the command; its own files do not (PEP 446).
        self._process = subprocess.Popen(held, close_fds=False)
        os.close(low)
        self.pid = self._process.pid

    def go(self) -> None:
        """Let it begin."""
        os.write(self._tells, b"go\n")
        self._forget()
        self.begun = True

    def give_up(self) -> None:
        """End it where it was not let go."""
        self._forget()

    def _forget(self) -> None:
        if self._tells >= 0:
            os.close(self._tells)
            self._tells = -1

    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def status(self, stop: Stop) -> int:
        """Wait for its end; return its status as a shell does.

        It gets the signals that came to record alone: a terminal's Ctrl-C goes to both.
        """
        handed_on = False
        while not self.ended():
            if stop.number and not handed_on:
                handed_on = True
                if stop.number != signal.SIGINT or not _at_a_terminal():
                    with suppress(ProcessLookupError):
                        os.kill(self.pid, stop.number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE_S)
        returned = self._process.returncode
        return 128 - returned if returned < 0 else returned


def _free_digit() -> int:
    """A descriptor that is not in use and that a shell can name: it has one digit."""
    for descriptor in range(9, 2, -1):
        try:
            os.fstat(descriptor)
        except OSError:
            return descriptor
    raise RefusedError("descriptors 3 to 9 are in use; close one of them")


def _at_a_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
