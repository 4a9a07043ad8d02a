# SPDX-License-Identifier: GPL-2.0-only
"""filesystems: list the mounts of a host, and mark those that lie on no disk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from foreign import files
from recorder.files import ROOT
from writestall_base import mountinfo
from writestall_base.mountinfo import Mount

MOST_BYTES = 64 << 20  # a host has up to 100000 mounts (fs.mount-max)

# Their files are in memory, or none at all: no call there waits for a disk.
ON_NO_DISK = frozenset(
    """autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs
    fusectl hugetlbfs mqueue nsfs proc pstore ramfs rpc_pipefs securityfs selinuxfs
    sysfs tmpfs tracefs""".split()
)


def mounts(root: Path = ROOT, whose: Iterable[str] = ("1", "self")) -> list[Mount]:
    """Every mount of the host's first process, else of this one's namespace, in order.

    A service's own namespace may show them read-only (systemd.exec(5), ProtectSystem=).
    """
    found = (
        list(files.lines(pid, "mountinfo", MOST_BYTES, root / "proc")) for pid in whose
    )
    return mountinfo.parse(next(filter(None, found), ()))


def describe(root: Path = ROOT) -> list[dict[str, Any]]:
    """The manifest's `filesystems`: all whose calls may wait for a disk."""
    found = (one for one in mounts(root) if one.type not in ON_NO_DISK)
    return [
        {
            "type": one.type,
            "dev": one.dev,
            "source": one.source,
            "mountpoint": one.point,
            "mount_options": one.options,
        }
        for one in found
    ]


def mount_of(path: Path) -> Mount | None:
    """The mount that holds a path, which is absolute and without links."""
    return mountinfo.mount_of(path, mounts())
