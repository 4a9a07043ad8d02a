# SPDX-License-Identifier: GPL-2.0-only
"""workload: watch a running process, or run a command, for one round."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

from foreign import files
from launcher.errors import TraceError

POLL_S = 0.1
END_S = 30
# A stopped shell becomes the command, so that its first call is seen, too.
STOPPED = ["sh", "-c", 'kill -STOP $$; exec "$@"', "drilldown"]


def must_exist(pid: int) -> None:
    """Raise TraceError where there is no such process."""
    if not files.is_there(pid):
        raise TraceError(f"no process {pid}: ps -e lists those there are")


class Command:
    """A command that is started anew for each round and watched to its end."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen([*STOPPED, *command])
        self.pid = self._process.pid
        os.waitpid(self.pid, os.WUNTRACED)

    def run(self, _enough: Callable[[], bool]) -> None:
        """Continue the command and wait for its end; ignore its status."""
        os.kill(self.pid, signal.SIGCONT)
        self._process.wait()

    def end(self) -> None:
        """Terminate the command if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            os.kill(self.pid, signal.SIGCONT)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Process:
    """A running process; a round ends with enough calls, or when its time is over."""

    def __init__(self, pid: int, round_s: float) -> None:
        must_exist(pid)
        self.pid = pid
        self._round_s = round_s

    def run(self, enough: Callable[[], bool]) -> None:
        """Wait for enough calls, the end of the round or of the process."""
        deadline_s = time.monotonic() + self._round_s
        while time.monotonic() < deadline_s and not enough():
            if not files.is_there(self.pid):
                return
            time.sleep(POLL_S)

    def end(self) -> None:
        """Leave the process alone."""
