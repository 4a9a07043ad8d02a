# SPDX-License-Identifier: GPL-2.0-only
"""caps: the limits of cgroups that a manifest has, in words."""

from __future__ import annotations

import re

from writestall.events.run_directory import RunDir, tables

Limits = dict[str, int]
# The keys of io.max (Documentation/admin-guide/cgroup-v2.rst) by what an I/O does.
_OF_OPERATION = {"read": ("rbps", "riops")}
_OF_OTHERS = ("wbps", "wiops")
_SETTING = re.compile(r"\b([rw](?:bps|iops))=(\d+)")


def limits(run: RunDir) -> dict[str, Limits]:
    """The limits of io.max that were in force in a run, by the path of the cgroup.

    A scenario's cgroups are in `cgroups`; those of a recorded host's tasks are in
    `tasks`, as the file has them.
    """
    found = {
        str(group.get("path")): {
            name: value
            for name, value in (group.get("io_max") or {}).items()
            if isinstance(value, int)
        }
        for group in tables(run.get("cgroups"))
    }
    for task in tables(run.get("tasks")):
        for level in tables(task.get("limits")):
            path = str(level.get("path"))
            found.setdefault(path, parsed(str(level.get("io.max", ""))))
    return found


def parsed(io_max: str) -> Limits:
    """The limits of a file io.max: of several disks the last one's."""
    return {name: int(value) for name, value in _SETTING.findall(io_max)}


def level(known: dict[str, Limits], path: str, op: str) -> tuple[str, str]:
    """The cgroup, or the nearest one above it, that has a limit for what an I/O does,
    and the limit: `2 MiB/s`; the cgroup itself and nothing where none is known.
    """
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        above = "/".join(parts[:end]) or "/"
        limit = _words(known.get(above, {}), op)
        if limit:
            return above, limit
    return path, ""


def _words(limit: Limits, op: str) -> str:
    in_bytes, in_operations = _OF_OPERATION.get(op, _OF_OTHERS)
    said = []
    if in_bytes in limit:
        said.append(f"{limit[in_bytes] / (1 << 20):g} MiB/s")
    if in_operations in limit:
        said.append(f"{limit[in_operations]} operations/s")
    return " and ".join(said)
