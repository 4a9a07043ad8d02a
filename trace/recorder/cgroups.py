# SPDX-License-Identifier: GPL-2.0-only
"""cgroups: find which cgroups a task is in, and the limits in force there."""

from __future__ import annotations

from contextlib import suppress
from os.path import normpath
from pathlib import Path
from typing import Any

from foreign import files
from launcher.cgroups import Hierarchy, by_controller, levels, whole
from recorder.files import ROOT, text
from recorder.filesystems import mounts

# Files that limit or weigh I/O, memory and CPU, and what they hold without a limit
# (Documentation/admin-guide/cgroup-v2.rst).
Files = dict[str, tuple[str, ...]]
V2: Files = {
    "cpu.max": ("max 100000",),
    "io.latency": ("",),
    "io.max": ("",),
    "io.weight": ("default 100",),
    "memory.high": ("max",),
    "memory.max": ("max",),
    "memory.swap.max": ("max",),
}
# Of version 1 (Documentation/admin-guide/cgroup-v1), by controller. No limit on memory
# is PAGE_COUNTER_MAX pages (include/linux/page_counter.h).
V1: dict[str, Files] = {
    "blkio": {
        f"blkio.throttle.{way}_{unit}_device": ("",)
        for way in ("read", "write")
        for unit in ("bps", "iops")
    },
    "cpu": {"cpu.cfs_quota_us": ("-1",)},
    "memory": {
        "memory.limit_in_bytes": ("9223372036854771712", "9223372036854775807"),
        "memory.soft_limit_in_bytes": ("9223372036854771712", "9223372036854775807"),
    },
}


def of_task(pid: int, root: Path = ROOT) -> dict[str, str]:
    """The paths by controller, of version 2 by an empty name (cgroups(7))."""
    found: dict[str, str] = {}
    for line in (files.text(pid, "cgroup", root / "proc") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        found |= dict.fromkeys(controllers.split(","), path)
    return found


class Limits:
    """The limits in force in cgroups, on whichever hierarchies the host has."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._tops: dict[str, Path] = {}
        self._starts: dict[str, str] = {}
        mounted = by_controller(mounts(root, ("self",)), *V1)
        for controller, found in mounted.items():
            tops = [root / mount.point.lstrip("/") for mount in found]
            shown = zip(tops, found, strict=True)
            own = [top for top, mount in shown if mount.root == "/"]
            self._tops[controller] = whole(tops)
            self._starts[controller] = _start(own, whole(tops))

    def paths(self, pid: int) -> dict[str, str]:
        """The paths that of_task() has, from the root of each hierarchy."""
        return {
            controller: normpath(f"{self._starts.get(controller, '')}{path}")
            for controller, path in of_task(pid, self._root).items()
        }

    def of(self, paths: dict[str, str]) -> list[dict[str, Any]]:
        """Each level that limits something: `controller`, `path`, and the files."""
        found = []
        for controller, top in self._tops.items():
            files = V1[controller] if controller else V2
            path = paths.get(controller)
            for level in levels(path) if path is not None else ():
                folder = top / level.relative_to("/")
                contents = {name: text(folder / name) for name in files}
                limits = {
                    name: value
                    for name, value in contents.items()
                    if value is not None and value not in files[name]
                }
                if limits:
                    where = {"controller": controller, "path": str(level)}
                    found.append(where | limits)
        return found


def _start(own: list[Path], top: Path) -> str:
    """Where the cgroup namespace of this process begins; empty: at the root.

    Its own mounts show `/` as their root, and paths of other tasks begin there:
    kernel/cgroup/cgroup.c, cgroup_show_path(), proc_cgroup_show().
    """
    if not own or whole(own) == top:
        return ""
    hierarchy = Hierarchy(top)
    hierarchy.read()
    with suppress(OSError):
        return hierarchy.path(own[0].stat().st_ino) or ""
    return ""
