# SPDX-License-Identifier: GPL-2.0-only
"""cgroups: resolve the ids of cgroups to paths, one `cgroup` event for each.

The id is the number of the folder's inode, and the file handle of it
(fs/kernfs/mount.c, kernfs_encode_fh(); Linux 5.5). Those that are there when tracing
begins are known from then on; a later one is looked for when it is first told of, and
has no event if it is gone by then.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

MOUNTS = Path("/proc/self/mounts")
# The controller of block I/O in version 1; in version 2 it is `io`.
BLOCK_IO = "blkio"
# The fields of events that hold ids; a quote inside of a string is escaped.
IDS = re.compile(rb'"(?:waker_)?cgroup(_v1)?":(\d+)')
FILEID_KERNFS = 0xFE  # include/linux/exportfs.h


class _Handle(ctypes.Structure):
    """struct file_handle of open_by_handle_at(2), with the 8 bytes of kernfs."""

    _fields_ = (
        ("bytes", ctypes.c_uint),
        ("type", ctypes.c_int),
        ("id", ctypes.c_ulonglong),
    )


@dataclass(frozen=True)
class Hierarchy:
    """A mounted hierarchy, and the paths of its cgroups by id."""

    top: Path
    paths: dict[int, str] = field(default_factory=dict)

    def read(self) -> None:
        """Take in all that is there now."""
        for folder, _, _ in os.walk(self.top):
            try:
                number = Path(folder).stat().st_ino
            except OSError:  # it vanished meanwhile
                continue
            self.paths[number] = self._path(folder)

    def path(self, id: int) -> str | None:
        """Return the path of a cgroup; None if it is gone."""
        if id not in self.paths:
            found = self._opened(id)
            if found is None:
                return None
            self.paths[id] = found
        return self.paths[id]

    def _path(self, folder: str) -> str:
        return "/" + os.path.relpath(folder, self.top).removeprefix(".")

    def _opened(self, id: int) -> str | None:
        handle = _Handle(ctypes.sizeof(ctypes.c_ulonglong), FILEID_KERNFS, id)
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            top = os.open(self.top, os.O_RDONLY)
        except OSError:
            return None
        try:
            opened = libc.open_by_handle_at(top, ctypes.byref(handle), os.O_PATH)
        except AttributeError:  # a C library without it
            return None
        finally:
            os.close(top)
        if opened < 0:
            return None
        try:
            return self._path(str(Path(f"/proc/self/fd/{opened}").readlink()))
        finally:
            os.close(opened)


def mounted(mounts: Path = MOUNTS) -> dict[int, Hierarchy]:
    """Return the hierarchies that are mounted by version: 2, and 1's of block I/O."""
    found: dict[int, Hierarchy] = {}
    for line in mounts.read_text().splitlines():
        _, top, kind, options = line.split()[:4]
        if kind == "cgroup2":
            found.setdefault(2, Hierarchy(Path(top)))
        elif kind == "cgroup" and BLOCK_IO in options.split(","):
            found.setdefault(1, Hierarchy(Path(top)))
    return found


class WithCgroups:
    """A sink that writes a `cgroup` event before the first line that tells of each."""

    def __init__(
        self,
        sink: IO[bytes],
        hierarchies: dict[int, Hierarchy],
        clock: Callable[[], int],
    ) -> None:
        self._sink = sink
        self._hierarchies = hierarchies
        self._clock = clock
        self._told: set[tuple[int, int]] = set()
        for hierarchy in hierarchies.values():
            hierarchy.read()

    def write(self, line: bytes) -> None:
        """Write a complete line."""
        for version_1, number in IDS.findall(line):
            told = (1 if version_1 else 2, int(number))
            if told not in self._told:
                self._told.add(told)
                self._tell(*told)
        self._sink.write(line)

    def flush(self) -> None:
        self._sink.flush()

    def _tell(self, version: int, id: int) -> None:
        hierarchy = self._hierarchies.get(version)
        path = hierarchy.path(id) if hierarchy else None
        if path is None:
            return
        t_ns = self._clock()
        event = {"ev": "cgroup", "t_ns": t_ns, "id": id, "version": version}
        text = json.dumps(event | {"path": path}, separators=(",", ":"))
        self._sink.write(text.encode() + b"\n")
