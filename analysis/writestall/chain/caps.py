# SPDX-License-Identifier: GPL-2.0-only
"""caps: the limits of cgroups that a manifest has, in words."""

from __future__ import annotations

from writestall.events.run_directory import RunDir

Limits = dict[str, int]
# The keys of io.max (Documentation/admin-guide/cgroup-v2.rst) by what an I/O does.
_OF_OPERATION = {"read": ("rbps", "riops")}
_OF_OTHERS = ("wbps", "wiops")


def limits(run: RunDir) -> dict[str, Limits]:
    """The limits of io.max that were in force in a run, by the path of the cgroup."""
    groups = run.get("cgroups")
    return {
        str(group.get("path")): {
            name: value
            for name, value in (group.get("io_max") or {}).items()
            if isinstance(value, int)
        }
        for group in (groups if isinstance(groups, list) else [])
        if isinstance(group, dict)
    }


def words(limit: Limits, op: str) -> str:
    """A limit for what an I/O does: `2 MiB/s`; empty where none is known."""
    in_bytes, in_operations = _OF_OPERATION.get(op, _OF_OTHERS)
    said = []
    if in_bytes in limit:
        said.append(f"{limit[in_bytes] / (1 << 20):g} MiB/s")
    if in_operations in limit:
        said.append(f"{limit[in_operations]} operations/s")
    return " and ".join(said)
