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


def search_path() -> str:
    """PATH and the sbin folders, which Debian leaves out of ordinary users' PATH."""
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


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
