# SPDX-License-Identifier: GPL-2.0-only
"""workload: a process that is there, or a command, to one round's slow calls."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from launcher.errors import TraceError

POLL_S = 0.1
END_S = 30
# A stopped shell becomes the command, so that its first call is seen, too.
STOPPED = ["sh", "-c", 'kill -STOP $$; exec "$@"', "drilldown"]


def must_exist(pid: int) -> None:
    """Raises TraceError where there is no such process."""
    if not Path(f"/proc/{pid}").exists():
        raise TraceError(f"no process {pid}: ps -e lists those there are")


class Command:
    """A command that is started anew for each round and watched to its end."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen([*STOPPED, *command])
        self.pid = self._process.pid
        os.waitpid(self.pid, os.WUNTRACED)

    def run(self, _enough: Callable[[], bool]) -> None:
        """Let it go and wait for its end; what it returns is its own affair."""
        os.kill(self.pid, signal.SIGCONT)
        self._process.wait()

    def end(self) -> None:
        """Whatever happened, it is gone afterwards."""
        if self._process.poll() is None:
            self._process.terminate()
            os.kill(self.pid, signal.SIGCONT)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Process:
    """A process that runs already; a round ends with enough calls or its time."""

    def __init__(self, pid: int, round_s: float) -> None:
        must_exist(pid)
        self.pid = pid
        self._round_s = round_s

    def run(self, enough: Callable[[], bool]) -> None:
        """Watch it until there is enough, the round is over or the process gone."""
        deadline_s = time.monotonic() + self._round_s
        while time.monotonic() < deadline_s and not enough():
            if not Path(f"/proc/{self.pid}").exists():
                return
            time.sleep(POLL_S)

    def end(self) -> None:
        """It was there before, it stays."""
