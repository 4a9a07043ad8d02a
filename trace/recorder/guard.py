# SPDX-License-Identifier: GPL-2.0-only
"""guard: end the tracer and delete files in memory when record was killed.

A process that gets SIGKILL undoes nothing. So a child of it, which shares its memory,
waits for the end of a pipe. The lines it reads from it list what to undo.
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from writestall_base import process
from writestall_base.stop import SIGNALS

ENDED_WITHIN_S = 60.0
SESSION, FOLDER, DONE = "session", "folder", "done"


class Guard:
    """The child; start it before any thread."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._writer)
            _watch(reader)
        os.close(reader)

    def session(self, leader: int) -> None:
        """End that session's processes."""
        self._tell(f"{SESSION} {leader}")

    def folder(self, path: Path) -> None:
        """Delete that folder."""
        self._tell(f"{FOLDER} {path}")

    def dismiss(self) -> None:
        """Let it go: everything was undone."""
        self._tell(DONE)
        os.close(self._writer)
        os.waitpid(self._pid, 0)

    def _tell(self, line: str) -> None:
        os.write(self._writer, f"{line}\n".encode())


def _watch(pipe: int) -> None:
    """Read until the other end is closed, undo, and exit."""
    os.setsid()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    try:
        with os.fdopen(pipe) as lines:
            records = [line.rstrip("\n").partition(" ") for line in lines]
        if records and records[-1][0] == DONE:
            return
        for what, _, value in records:
            if what == SESSION:
                _end(int(value))
        for what, _, value in records:
            if what == FOLDER:
                shutil.rmtree(value, ignore_errors=True)
    finally:
        os._exit(0)


def _end(leader: int) -> None:
    """End a session in order, the leader first, and kill what is left."""
    with suppress(ProcessLookupError):
        os.kill(leader, signal.SIGINT)
        process.wait_gone(leader, ENDED_WITHIN_S)
    if process.signal_session(leader, signal.SIGINT):
        process.wait_gone(leader, process.KILL_S)
    process.signal_session(leader, signal.SIGKILL)
