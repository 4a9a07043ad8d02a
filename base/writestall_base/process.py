# SPDX-License-Identifier: GPL-2.0-only
"""process: run commands within a time limit, also when signals arrive.

Each child is a session of its own: Ctrl-C at a terminal reaches this program alone,
which ends its children in order.
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

from writestall_base.errors import StepError
from writestall_base.stop import Stop

POLL_S = 0.1
KILL_S = 10.0


def tool(argv: Sequence[str], timeout_s: float = 60, stop: Stop | None = None) -> str:
    """Run a short command and return its stdout and stderr together.

    With `stop`, a signal ends it. Raises StepError with its most informative line if
    it fails.
    """
    process = start(argv, subprocess.PIPE)
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
                raise StepError(
                    f"{argv[0]}: still running after {timeout_s:.0f} s"
                ) from None
    text = output.decode(errors="replace")
    if process.returncode:
        raise StepError(_reason(argv[0], text, process.returncode))
    return text


def _reason(program: str, said: str, returncode: int) -> str:
    """Return the most informative line: the first with `error:`, else the first."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()]
    best = (errors or lines or ["no message"])[0]
    prefix = "" if best.startswith(f"{program}:") else f"{program}: "
    return f"{prefix}{best} ({ending(returncode)})"


def start(argv: Sequence[str], output: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Start a child with stdout and stderr in a file, or in a subprocess.PIPE."""
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
    """Kill a child and its session; a task in D state may survive."""
    signal_session(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=KILL_S)


def end(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """End a child with SIGINT, then its session, and kill what is left."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=timeout_s)
    if signal_session(process.pid, signal.SIGINT):
        wait_gone(process.pid, KILL_S)
    kill(process)


def wait_gone(leader: int, timeout_s: float) -> None:
    """Wait until no process of a session is left, or for that long."""
    deadline_s = time.monotonic() + timeout_s
    while _session(leader) and time.monotonic() < deadline_s:
        time.sleep(POLL_S)


def _session(leader: int) -> list[int]:
    """List the processes of a session; its leader may have exited."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may contain `)`; the state is the first field after it.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found.append(int(path.parent.name))
    return found


def signal_session(leader: int, number: int) -> bool:
    """Signal every process of a session; return whether there was one."""
    members = _session(leader)
    for pid in members:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return bool(members)


def ending(returncode: int) -> str:
    """Return `exit 1`, or `killed by SIGKILL`."""
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit {returncode}"


def wait_until(
    done: Callable[[], bool], timeout_s: float, stop: Stop | None, what: str
) -> None:
    """Poll until `done`; raise on a signal, with `stop`, or at the time limit."""
    deadline_s = time.monotonic() + timeout_s
    while not done():
        if stop:
            stop.check()
        if time.monotonic() > deadline_s:
            raise StepError(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(POLL_S)
