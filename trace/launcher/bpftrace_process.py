# SPDX-License-Identifier: GPL-2.0-only
"""bpftrace_process: read the lines of a running bpftrace and send it signals."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence

from launcher.lines import Lines

# How bpftrace is ended: the signals that it is sent, and the seconds that each may
# take before the next is tried. The scripts answer SIGUSR1 with their `end` row.
Step = tuple[signal.Signals, float]
ASKING: tuple[Step, ...] = ((signal.SIGUSR1, 5.0),) * 3
ENDING: tuple[Step, ...] = ((signal.SIGINT, 30.0), (signal.SIGKILL, 30.0))
KILLING: tuple[Step, ...] = ENDING[-1:]


class BpftraceProcess:
    """A running bpftrace.

    Its handlers are installed without SA_RESTART (src/run_bpftrace.cpp): a signal that
    finds it waiting for room in the pipe makes its write fail, and its output stream
    prints nothing any more after that. So the pipe is emptied before each signal.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        self._process = process
        self._lines = Lines(process.stdout)
        self._steps: Iterator[Step] = iter(())
        self._due_s: float | None = None  # when the next step is, by time.monotonic()

    def end_by(self, steps: Sequence[Step]) -> None:
        """Take the first step now, each of the others after its predecessor's time."""
        self._steps = iter(steps)
        self._due_s = time.monotonic()

    def lines(self) -> Iterator[bytes]:
        """Yield each complete line, until bpftrace has closed its output."""
        open_still = True
        while open_still:
            self._take_step()
            open_still = self._lines.wait(self._patience_s())
            yield from self._lines.take()

    def _patience_s(self) -> float | None:
        return None if self._due_s is None else max(0, self._due_s - time.monotonic())

    def _take_step(self) -> None:
        if self._due_s is None or time.monotonic() < self._due_s:
            return
        step = next(self._steps, None)
        self._due_s = None
        if step is None:
            return
        self._lines.empty()
        number, patience_s = step
        self._process.send_signal(number)
        self._due_s = time.monotonic() + patience_s
