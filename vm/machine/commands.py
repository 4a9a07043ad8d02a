# SPDX-License-Identifier: GPL-2.0-only
"""commands: a command of this host to its end, in order also when it is cut short."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

GRACE_S = 20.0  # for a child that was told to end, before it is killed
# sh's $0 is the process it must be a child of, "$@" what it becomes.
IF_CHILD_OF = '[ "$PPID" = "$0" ] && exec "$@"'


def search_path() -> str:
    """PATH and the sbin folders, which Debian leaves out of ordinary users' PATH."""
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def ends_with_us(end: signal.Signals, command: Sequence[str]) -> list[str]:
    """The command that the kernel sends `end` when this process, its parent, ends.

    Of a parent that had ended before it was asked for, the signal never tells
    (prctl(2), PR_SET_PDEATHSIG): so there is a look at who the parent is, after it.
    """
    asked = ["setpriv", "--pdeathsig", end.name.removeprefix("SIG"), "--"]
    return [*asked, "sh", "-c", IF_CHILD_OF, str(os.getpid()), *command]


@contextlib.contextmanager
def started(
    command: Sequence[str], end: signal.Signals = signal.SIGTERM, **popen: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A child for the body to wait for; when that is interrupted, it ends in order.

    subprocess.run() would kill it at once, and leave its own children running. It has
    a process group, and all of that is told: mmdebstrap's first process, for one,
    leaves it to the second to hear.
    """
    with subprocess.Popen(command, process_group=0, **popen) as child:
        try:
            yield child
        except BaseException:
            _tell(child, end)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_S)
            _tell(child, signal.SIGKILL)
            raise


def _tell(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)
