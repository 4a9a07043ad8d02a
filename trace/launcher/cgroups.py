# SPDX-License-Identifier: GPL-2.0-only
"""cgroups: resolve the ids of cgroups to paths, one `cgroup` event for each.

The id is the number of the folder's inode, and the file handle of it
(fs/kernfs/mount.c, kernfs_encode_fh(); Linux 5.5). Those that are there when tracing
begins are known from then on; a later one is looked for when an event names it, and has
no event if it is gone by then. A cgroup above one that is printed has an event of its
own if its io.max limits something: the limit holds for all below it. One whose limits
have changed has another event before the first bio that they keep back.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from writestall_base import mountinfo
from writestall_base.mountinfo import Mount

# The controller of block I/O in version 1; in version 2 it is `io`.
BLOCK_IO = "blkio"
# The fields of events that hold ids; a quote inside of a string is escaped.
# Also waker_cgroup. A pattern that begins with a word is looked for six times as fast.
IDS = re.compile(rb'cgroup(_v1)?":(\d+)')
KEPT_BACK = re.compile(rb'"throttled_ns":[1-9]')
# A hierarchy's own root has the first of its numbers (fs/kernfs/dir.c,
# kernfs_create_root(), __kernfs_new_node()).
ROOT_INODE = 1
AGAIN_NS = 10**9  # how often limits are read for bios that are kept back
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

    def limited(self, path: str) -> Iterator[tuple[int, str, str]]:
        """Yield id, path and io.max of the cgroup and of those above, the top first,
        that have a limit of their own (version 2)."""
        for level in levels(path):
            folder = self.top / level.relative_to("/")
            # the top has no such file, nor has version 1; and it may be gone
            with suppress(OSError):
                if io_max := (folder / "io.max").read_text().strip():
                    yield folder.stat().st_ino, str(level), io_max

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


def mounted(mounts: Path = mountinfo.OWN) -> dict[int, Hierarchy]:
    """Return the hierarchies that are mounted by version: 2, and 1's of block I/O."""
    return {
        1 if controller else 2: Hierarchy(whole([Path(one.point) for one in found]))
        for controller, found in by_controller(mountinfo.read(mounts), BLOCK_IO).items()
    }


def by_controller(mounts: Iterable[Mount], *names: str) -> dict[str, list[Mount]]:
    """The mounts of these controllers' hierarchies, of version 2's by an empty name."""
    found: dict[str, list[Mount]] = {}
    for mount in mounts:
        if mount.type == "cgroup2":
            found.setdefault("", []).append(mount)
        elif mount.type == "cgroup":
            for name in set(names).intersection(mount.options.split(",")):
                found.setdefault(name, []).append(mount)
    return found


def levels(path: str) -> list[Path]:
    """The paths of a cgroup and of those above it, the top first."""
    own = Path("/", path.lstrip("/"))
    return [*reversed(own.parents), own]


def whole(tops: list[Path]) -> Path:
    """Of the mounts of one hierarchy, the first that shows all of it, else the first.

    A container's own begins at the root of its cgroup namespace
    (kernel/cgroup/cgroup.c, cgroup_do_get_tree()); the host's may be beside it.
    """
    for top in tops:
        with suppress(OSError):
            if top.stat().st_ino == ROOT_INODE:
                return top
    return tops[0]


class WithCgroups:
    """A sink that writes a `cgroup` event before the first line that names it.

    _printed   io.max by version and id, empty without a limit
    _due_ns when the limits of one may be read again
    """

    def __init__(
        self,
        sink: IO[bytes],
        hierarchies: dict[int, Hierarchy],
        clock: Callable[[], int],
    ) -> None:
        self._sink = sink
        self._hierarchies = hierarchies
        self._clock = clock
        self._printed: dict[tuple[int, int], str] = {}
        self._due_ns: dict[tuple[int, int], int] = {}
        for hierarchy in hierarchies.values():
            hierarchy.read()

    def write(self, line: bytes) -> None:
        """Write a complete line."""
        kept_back = KEPT_BACK.search(line)
        for version_1, number in IDS.findall(line):
            group = (1 if version_1 else 2, int(number))
            if group not in self._printed or (kept_back and self._is_due(group)):
                self._tell(*group)
        self._sink.write(line)

    def flush(self) -> None:
        self._sink.flush()

    def _tell(self, version: int, id: int) -> None:
        hierarchy = self._hierarchies.get(version)
        path = hierarchy.path(id) if hierarchy else None
        if hierarchy is None or path is None:
            self._printed[version, id] = ""
            return
        rows = {
            level: {"path": place, "io_max": io_max}
            for level, place, io_max in hierarchy.limited(path)
        }
        rows.setdefault(id, {"path": path})
        for level, row in rows.items():
            limit = row.get("io_max", "")
            if self._printed.get((version, level)) != limit:
                self._printed[version, level] = limit
                self._print({"id": level, "version": version} | row)

    def _print(self, fields: dict[str, int | str]) -> None:
        event = {"ev": "cgroup", "t_ns": self._clock()} | fields
        text = json.dumps(event, separators=(",", ":"))
        self._sink.write(text.encode() + b"\n")

    def _is_due(self, group: tuple[int, int]) -> bool:
        now_ns = self._clock()
        due = now_ns >= self._due_ns.get(group, 0)
        if due:
            self._due_ns[group] = now_ns + AGAIN_NS
        return due
