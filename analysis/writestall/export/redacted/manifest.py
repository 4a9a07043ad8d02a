# SPDX-License-Identifier: GPL-2.0-only
"""manifest: replace the names in a run's manifest, by a table of its keys.

A key that is not listed is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from writestall.export.redacted.names import Names, device

Replace = Callable[[Any, Names], Any]
Table = Mapping[str, "Replace | Table"]
REDACTED = "redacted"


def redacted(manifest: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """The manifest with tokens for names."""
    return {**_by(MANIFEST, manifest, names), REDACTED: True}


def _by(table: Table, value: Any, names: Names) -> Any:
    """The listed keys of a table, or of each of a list."""
    if isinstance(value, list):
        return [_by(table, one, names) for one in value]
    if not isinstance(value, dict):
        return None
    found = {}
    for key, how in table.items():
        if key in value:
            inner = value[key]
            found[key] = how(inner, names) if callable(how) else _by(how, inner, names)
    return found


def _keep(value: Any, names: Names) -> Any:
    return value


def _number(value: Any, names: Names) -> Any:
    return value if isinstance(value, (int, float)) else None


def _of_text(replace: Callable[[Names, str], str]) -> Replace:
    return lambda value, names: (
        replace(names, value) if isinstance(value, str) else None
    )


def _device(value: Any, names: Names) -> Any:
    return value if isinstance(value, str) and device(value) else _word(value, names)


def _nothing(value: Any, names: Names) -> None:
    return None


def _reason(value: Any, names: Names) -> str | None:
    return value and "left out: it may hold names"


def _options(value: Any, names: Names) -> str | None:
    """Mount options by their names; values only where they are numbers or few words."""
    if not isinstance(value, str):
        return None
    options = []
    for option in value.split(","):
        key, equals, given = option.partition("=")
        known = given.isdigit() or given in PUBLIC_VALUES
        kept = given if known or not given else names.word(given)
        options.append(f"{key if key.replace('_', '').isalnum() else ''}{equals}{kept}")
    return ",".join(options)


def _limits(value: Any, names: Names) -> Any:
    """The levels of cgroups: each file's values are numbers and devices."""
    rows = value if isinstance(value, list) else []
    return [
        {
            key: names.cgroup(str(text)) if key == "path" else text
            for key, text in row.items()
        }
        for row in rows
        if isinstance(row, dict)
    ]


def _version_1(value: Any, names: Names) -> Any:
    paths = value if isinstance(value, dict) else {}
    return {key: names.cgroup(str(path)) for key, path in paths.items()}


def _devices(value: Any, names: Names) -> Any:
    return [_device(one, names) for one in value] if isinstance(value, list) else None


_word = _of_text(Names.word)
_path = _of_text(Names.path)
_comm = _of_text(Names.comm)
_cgroup = _of_text(Names.cgroup)
# ext4(5), xfs(5), btrfs(5), mount(8)
PUBLIC_VALUES = frozenset(
    """remount-ro continue panic ordered writeback journal zstd lzo zlib none v2 async
    on off auto""".split()
)
DEVICE: Table = {"name": _device, "dev": _device, "size_bytes": _number}
CONTAINER: Table = {
    "runtime": _keep,
    "id": lambda value, names: names.id(value) if value else "",
    "pod": _word,
    "name": _word,
}
MANIFEST: Table = {
    **dict.fromkeys(("format", "status", "kernel", "arch"), _keep),
    "reason": _reason,
    "recorded": {
        "comm": _comm,
        "path": _path,
        "device": _device,
        **dict.fromkeys(("pid", "stall_ns", "for_s", "profile"), _number),
    },
    "host": {
        "name": lambda value, names: "host",
        "distribution": _keep,
        **dict.fromkeys(("cpus", "memory_bytes", "swap_bytes"), _number),
    },
    "disks": {
        **DEVICE,
        "mapped_name": _word,
        **dict.fromkeys(("model", "scheduler", "write_cache"), _keep),
        **dict.fromkeys(("rotational", "nr_requests", "wbt_lat_usec"), _number),
        **dict.fromkeys(("max_sectors_kb", "read_ahead_kb"), _number),
        "on": _devices,
        "partitions": DEVICE,
    },
    "filesystems": {
        "type": _keep,
        "dev": _device,
        "source": _path,
        "mountpoint": _path,
        "mount_options": _options,
    },
    "sysctl": _keep,
    "tasks": {
        "pid": _number,
        "comm": _comm,
        "exe": _of_text(Names.file),
        "cgroup": _cgroup,
        "cgroup_v1": _version_1,
        "container": CONTAINER,
        "limits": _limits,
    },
    "containers": {"path": _cgroup, **CONTAINER},
    "tracers": {
        **dict.fromkeys(("engine", "version", "script"), _keep),
        **dict.fromkeys(("exit_status", "events", "lost"), _number),
    },
    "writer": {"name": _comm, "argv": _nothing, "exit_status": _number},
    **dict.fromkeys(("clock", "window"), _keep),
    "steps": {
        **dict.fromkeys(("name", "status"), _keep),
        **dict.fromkeys(("start_ns", "dur_ns"), _number),
        "detail": _nothing,
    },
    # of the lab's runs
    **dict.fromkeys(("duration_s", "seed"), _number),
    **dict.fromkeys(("device", "backing_device", "journal_device"), DEVICE),
    "filesystem": {"type": _keep, "dev": _device, "mount_options": _options},
    "memory": {"limit_bytes": _number},
}
