# SPDX-License-Identifier: GPL-2.0-only
"""command: hold a command until it is traced, let it run, keep its exit status.

Its stdin, stdout, stderr and terminal are those that record was started with, and so
are its other descriptors: record's own do not outlive an exec (PEP 446).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from writestall_base.process import POLL_S
from writestall_base.stop import SIGNALS, Stop

# As shells have it (POSIX, "Exit Status for Commands").
NOT_FOUND, NOT_EXECUTABLE, KILLED = 127, 126, 128
# Python ignores these (Modules/signalmodule.c, Python/pylifecycle.c).
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


class Command:
    """A command that waits to be started; make it before any thread."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = list(argv)
        self.begun = False
        self._status: int | None = None
        reader, self._writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._writer)
            _become(self.argv, reader)
        os.close(reader)

    def go(self) -> None:
        """Let it begin."""
        os.write(self._writer, b"go")
        self.begun = True
        self.give_up()

    def give_up(self) -> None:
        """End it, unless it was started."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1

    def ended(self) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._status = KILLED - code if code < 0 else code
        return self._status is not None

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
            time.sleep(POLL_S)
        assert self._status is not None
        return self._status


def _become(argv: list[str], pipe: int) -> NoReturn:
    """Wait for the word, and execute the command; without the word, exit."""
    for number in (*SIGNALS, *IGNORED):
        signal.signal(number, signal.SIG_DFL)
    try:
        if os.read(pipe, 2):
            os.execvp(argv[0], argv)
    except PermissionError:
        os._exit(NOT_EXECUTABLE)
    except OSError:
        os._exit(NOT_FOUND)
    finally:
        os._exit(1)


def _at_a_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
