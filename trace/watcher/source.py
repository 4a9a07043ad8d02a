# SPDX-License-Identifier: GPL-2.0-only
"""source: the lines of an engine's launcher, and its end in order."""

from __future__ import annotations

import argparse
import fcntl
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from launcher.lines import Lines
from recorder import targets
from recorder.engines import Engine
from writestall_base import process

# What the launcher may print while this program explains; a pipe's default is 64 KiB.
PIPE_BYTES = 1 << 20
ENDED_WITHIN_S = 60.0
SAID_WITHIN_S = 2.0
KEPT_MESSAGES = 20
# How to stop the launcher, or its engine, alone: launcher/printing.py, bpf/core/main.c.
ITS_STOP = re.compile(r"; stop with Ctrl-C or: kill \d+")


class Source:
    """A running launcher. Its messages go to `said`, from a thread."""

    def __init__(
        self,
        engine: Engine,
        options: argparse.Namespace,
        begun: Callable[[int], None],
        said: Callable[[str], None],
    ) -> None:
        # An interpreter that starts has no handler; trace/trace lets SIGINT through.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                targets.command(options, engine.name, None),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        begun(self._process.pid)
        assert self._process.stdout
        with suppress(OSError):  # an unprivileged one's limit: fs/pipe.c, pipe_max_size
            fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._lines = Lines(self._process.stdout)
        self._said, self._messages = said, deque[str](maxlen=KEPT_MESSAGES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The launcher's process, which leads a session."""
        return self._process.pid

    def wait(self, patience_s: float) -> bool:
        """Return at the next lines or signal, or after a time; False: it has ended."""
        return self._lines.wait(patience_s)

    def take(self) -> Iterator[bytes]:
        """The lines that are there, each whole."""
        return (line + b"\n" for line in self._lines.take())

    def stop(self) -> Iterator[bytes]:
        """Ask for the end; yield the lines until it has come, or its time is over."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        deadline_s = time.monotonic() + ENDED_WITHIN_S
        while (left_s := deadline_s - time.monotonic()) > 0 and self.wait(left_s):
            yield from self.take()
        yield from self.take()

    def close(self) -> str:
        """Kill what is left of it; return how it ended."""
        process.end(self._process, process.KILL_S)
        # A process that it left behind may keep its messages open.
        self._listener.join(SAID_WITHIN_S)
        how = process.ending(self._process.returncode)
        last = f"; it said: {self._messages[-1]}" if self._messages else ""
        return f"{how}{last}" if self._process.returncode else ""

    def _listen(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            text = ITS_STOP.sub("", line.decode(errors="replace").strip())
            self._messages.append(text)
            self._said(text)


@contextmanager
def running(
    engine: Engine,
    options: argparse.Namespace,
    begun: Callable[[int], None],
    said: Callable[[str], None],
) -> Iterator[Source]:
    """A launcher that is ended in any case."""
    source = Source(engine, options, begun, said)
    try:
        yield source
    finally:
        source.close()
