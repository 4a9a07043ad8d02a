# SPDX-License-Identifier: GPL-2.0-only
"""cases: make an event for each tracing script on a disk that stalls."""

from __future__ import annotations

import os

import lab

# The event that a script must print for happen().
REPORTS = {
    "drilldown": "call",
    "journal_commits": "commit",
    "page_locks": "page_lock",
    "slow_writes": "write",
    "stalled_writes": "write",
}
HOLD_S = 0.3


def _write() -> None:
    """Write with O_DSYNC, which needs the disk."""
    fd = os.open(lab.MOUNT / "written", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    os.write(fd, b"x" * 200)


def _read() -> None:
    """Read a page that is not in memory: the reader waits for the page's lock."""
    os.pread(os.open(lab.MOUNT / "read", os.O_RDONLY | os.O_NOATIME), 1, 0)


def happen(disk: lab.Disk) -> None:
    """Make a stalled write, a wait for a page and a commit, in that order."""
    path = lab.unread("read", pages=1)
    for body in (_write, _read):
        lab.stalled_child(disk, body, HOLD_S)
    path.unlink()
    os.sync()
