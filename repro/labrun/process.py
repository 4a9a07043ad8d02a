# SPDX-License-Identifier: GPL-2.0-only
"""process: an argv to its output, within a time limit, whatever signals come.

Children are sessions of their own: Ctrl-C at a terminal reaches this program
alone, which ends its children in the right order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from labrun.errors import StepError
from labrun.stop import Stop

POLL_S = 0.1
KILL_S = 10.0


def tool(argv: Sequence[str], timeout_s: float = 60, stop: Stop | None = None) -> str:
    """Run a short command; its stdout and stderr together.

    With `stop` a signal ends it; without, it runs to its end. Raises StepError
    with the line that says most when it fails.
    """
    process = _start(argv, subprocess.PIPE)
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            output, _ = process.communicate(timeout=POLL_S)
            break
        except subprocess.TimeoutExpired:
            if stop is not None and stop.requested:
                kill(process)
                stop.check()
            if time.monotonic() > deadline_s:
                kill(process)
                raise StepError(f"{argv[0]}: no end after {timeout_s:.0f} s") from None
    text = output.decode(errors="replace")
    if process.returncode:
        raise StepError(_reason(argv[0], text, process.returncode))
    return text


def _reason(program: str, said: str, returncode: int) -> str:
    """The line of a failed command that says most: an error, or the first one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()]
    best = (errors or lines or ["no message"])[0]
    prefix = "" if best.startswith(f"{program}:") else f"{program}: "
    return f"{prefix}{best} ({ending(returncode)})"


def start(argv: Sequence[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a long-lived child; stdout and stderr go to a file."""
    return _start(argv, output)


def _start(argv: Sequence[str], output: IO[bytes] | int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except OSError as error:
        raise StepError(f"{argv[0]}: {error.strerror}") from None


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a child and what it started, now; a task in D state may outlive it."""
    _signal_session(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=KILL_S)


def end(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Ask a child to end in order (SIGINT), then make it and its orphans."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=timeout_s)
    if _signal_session(process.pid, signal.SIGINT):
        deadline_s = time.monotonic() + KILL_S
        while _session(process.pid) and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
    kill(process)


def _session(leader: int) -> list[int]:
    """The living processes of a session; its leader may be gone."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may hold anything, a `)` too; state is the first behind it.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found.append(int(path.parent.name))
    return found


def _signal_session(leader: int, number: int) -> bool:
    """Signal every process of a session; whether there was any."""
    members = _session(leader)
    for pid in members:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return bool(members)


def ending(returncode: int) -> str:
    """`exit 1`, or `killed by SIGKILL`."""
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit {returncode}"


def wait_until(
    done: Callable[[], bool], timeout_s: float, stop: Stop, what: str
) -> None:
    """Poll until `done`; a signal or the time limit ends the wait by exception."""
    deadline_s = time.monotonic() + timeout_s
    while not done():
        stop.check()
        if time.monotonic() > deadline_s:
            raise StepError(f"{what}: not after {timeout_s:.0f} s")
        time.sleep(POLL_S)
