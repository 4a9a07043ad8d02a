# SPDX-License-Identifier: GPL-2.0-only
"""commands: run a host command so that it ends cleanly when we are interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from writestall_base.errors import UserError

GRACE_S = 20.0  # between the signal and SIGKILL
# sh's $0 is the pid its parent must have, "$@" the command.
IF_CHILD_OF = '[ "$PPID" = "$0" ] && exec "$@"'


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def end_in_order() -> None:
    """From now on, SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that cleanup
    runs."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)


def search_path() -> str:
    """PATH and the sbin folders, which Debian leaves out of ordinary users' PATH."""
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def said(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What a short command prints, whatever its status."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def output(command: Sequence[str], data: bytes = b"") -> bytes:
    """What a short command prints, given that on its standard input; refuse one that
    fails."""
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        name, said = Path(command[0]).name, done.stderr.decode(errors="replace")
        last = (said.strip() or "no message").splitlines()[-1]
        raise UserError(f"{name} failed with status {done.returncode}: {last}")
    return done.stdout


def ends_with_us(end: signal.Signals, command: Sequence[str]) -> list[str]:
    """Wrap the command so that the kernel sends it `end` when this process exits.

    A parent that exited before prctl(PR_SET_PDEATHSIG) sends no signal (prctl(2)), so
    the wrapper checks its parent after that call.
    """
    asked = ["setpriv", "--pdeathsig", end.name.removeprefix("SIG"), "--"]
    return [*asked, "sh", "-c", IF_CHILD_OF, str(os.getpid()), *command]


@contextlib.contextmanager
def started(
    command: Sequence[str], end: signal.Signals = signal.SIGTERM, **popen: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child for the body to wait for; terminate it if the body is interrupted.

    subprocess.run() would kill it at once and leave its children running. The child
    has a process group of its own, and the signal goes to the whole group: of
    mmdebstrap's two processes, only the second handles it.
    """
    with subprocess.Popen(command, process_group=0, **popen) as child:
        try:
            yield child
        except BaseException:
            _signal(child, end)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_S)
            _signal(child, signal.SIGKILL)
            raise


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)
