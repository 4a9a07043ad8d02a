# SPDX-License-Identifier: GPL-2.0-only
"""filesystems: list the mounts of a host, and tell which lie on no disk."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreign import files
from recorder.files import ROOT

MOST_BYTES = 64 << 20  # a host has up to 100000 mounts (fs.mount-max)

# Their files are in memory, or none at all: no call there waits for a disk.
ON_NO_DISK = frozenset(
    """autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs
    fusectl hugetlbfs mqueue nsfs proc pstore ramfs rpc_pipefs securityfs selinuxfs
    sysfs tmpfs tracefs""".split()
)


@dataclass(frozen=True)
class Mount:
    """A line of proc(5), mountinfo: `dev` is st_dev of its files on most types.

    `root` is the folder of the file system that is mounted.
    """

    dev: str
    root: str
    point: str
    type: str
    source: str
    options: str

    def as_json(self) -> dict[str, Any]:
        """An entry of the manifest's `filesystems`."""
        return {
            "type": self.type,
            "dev": self.dev,
            "source": self.source,
            "mountpoint": self.point,
            "mount_options": self.options,
        }


def mounts(root: Path = ROOT, whose: Iterable[str] = ("1", "self")) -> list[Mount]:
    """Every mount of the host's first process, else of this one's namespace, in order.

    A service's own namespace may show them read-only (systemd.exec(5), ProtectSystem=).
    """
    found = (
        list(files.lines(pid, "mountinfo", MOST_BYTES, root / "proc")) for pid in whose
    )
    return [_mount(line) for line in next(filter(None, found), ())]


def _mount(line: str) -> Mount:
    before, _, after = line.partition(" - ")
    _, _, dev, root, point, options = before.split()[:6]
    kind, source, *rest = after.split(" ")
    every = dict.fromkeys(",".join([options, *rest]).split(","))
    root, point, source = map(_plain, (root, point, source))
    return Mount(dev, root, point, kind, source, ",".join(every))


def _plain(name: str) -> str:
    """mangle_path() of fs/seq_file.c writes blanks and backslashes in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), name)


def describe(root: Path = ROOT) -> list[dict[str, Any]]:
    """The manifest's `filesystems`: all whose calls may wait for a disk."""
    return [one.as_json() for one in mounts(root) if one.type not in ON_NO_DISK]


def mount_of(path: Path) -> Mount | None:
    """The mount that holds a path, which is absolute and without links."""
    found = {Path(one.point): one for one in mounts()}
    return next((found[up] for up in (path, *path.parents) if up in found), None)
