# SPDX-License-Identifier: GPL-2.0-only
"""engine: bpftrace at work: its lines, and the signals it is sent between them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import IO

# How bpftrace is brought to its end: what it is sent, and how many seconds that may
# take before the next is tried. The scripts answer SIGUSR1 with their `end` row.
Step = tuple[signal.Signals, float]
ASKING: tuple[Step, ...] = ((signal.SIGUSR1, 5.0),) * 3
ENDING: tuple[Step, ...] = ((signal.SIGINT, 30.0), (signal.SIGKILL, 30.0))
KILLING: tuple[Step, ...] = ENDING[-1:]


class Engine:
    """A running bpftrace.

    Its handlers are installed without SA_RESTART (src/run_bpftrace.cpp): a signal that
    finds it waiting for room in the pipe makes its write fail, and its output stream
    prints nothing any more after that. So the pipe is emptied before each signal.

    Signals to this process are attended to between two lines, at once: one that comes
    just before a read would else wait for the next line.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        self._process = process
        self._pipe: IO[bytes] = process.stdout
        self._held = b""  # read, not yet a complete line
        self._steps: Iterator[Step] = iter(())
        self._due_s: float | None = None  # when the next step is, by time.monotonic()
        self._hears, tells = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(tells, warn_on_full_buffer=False)

    def end_by(self, steps: Sequence[Step]) -> None:
        """Take the first step soon, each other when the one before had its time."""
        self._steps = iter(steps)
        self._due_s = time.monotonic()

    def lines(self) -> Iterator[bytes]:
        """Each complete line, until bpftrace has closed its output."""
        while True:
            self._take_step()
            ready = select.select([self._pipe, self._hears], [], [], self._patience_s())
            if self._hears in ready[0]:
                os.read(self._hears, 512)
            if self._pipe in ready[0] and not self._read():
                return
            *whole, self._held = self._held.split(b"\n")
            yield from whole

    def _patience_s(self) -> float | None:
        return None if self._due_s is None else max(0, self._due_s - time.monotonic())

    def _read(self) -> bool:
        """Take what the pipe holds, or wait for it; False at its end."""
        data = os.read(self._pipe.fileno(), 1 << 20)
        self._held += data
        return bool(data)

    def _take_step(self) -> None:
        if self._due_s is None or time.monotonic() < self._due_s:
            return
        step = next(self._steps, None)
        self._due_s = None
        if step is None:
            return
        while select.select([self._pipe], [], [], 0)[0] and self._read():
            pass
        number, patience_s = step
        self._process.send_signal(number)
        self._due_s = time.monotonic() + patience_s
