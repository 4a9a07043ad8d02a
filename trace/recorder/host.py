# SPDX-License-Identifier: GPL-2.0-only
"""host: describe the machine: distribution, processors, memory, disks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from recorder.files import ROOT, matched, number, text

# What decides when dirty pages are written (Documentation/admin-guide/sysctl/vm.rst).
SYSCTLS = (
    *("dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio"),
    *("dirty_expire_centisecs", "dirty_writeback_centisecs"),
    *("dirtytime_expire_seconds", "laptop_mode", "swappiness"),
)
SECTOR_BYTES = 512
# Documentation/ABI/stable/sysfs-block
NUMBERS = "rotational nr_requests wbt_lat_usec max_sectors_kb read_ahead_kb".split()


def describe(root: Path = ROOT) -> dict[str, Any]:
    """The manifest's `host`."""
    return {
        "name": os.uname().nodename,
        "distribution": _distribution(root),
        "cpus": os.cpu_count(),
        "memory_bytes": _meminfo(root, "MemTotal"),
        "swap_bytes": _meminfo(root, "SwapTotal"),
    }


def writeback(root: Path = ROOT) -> dict[str, str]:
    """The manifest's `sysctl`: those of writeback, as they are set."""
    found = {f"vm.{name}": text(root / "proc/sys/vm" / name) for name in SYSCTLS}
    return {name: value for name, value in found.items() if value is not None}


def _distribution(root: Path) -> str | None:
    """os-release(5), PRETTY_NAME."""
    return matched(root / "etc/os-release", r'^PRETTY_NAME="?(.*?)"?$')


def _meminfo(root: Path, name: str) -> int | None:
    found = matched(root / "proc/meminfo", rf"^{name}:\s+(\d+) kB$")
    return int(found) << 10 if found else None


def disks(root: Path = ROOT) -> list[dict[str, Any]]:
    """The manifest's `disks`: those with a size, with their partitions."""
    folders = sorted((root / "sys/block").glob("*"), key=lambda path: path.name)
    found = [_disk(folder) for folder in folders]
    return [disk for disk in found if disk["size_bytes"]]


def _disk(folder: Path) -> dict[str, Any]:
    queue = folder / "queue"
    numbers = {name: number(queue / name) for name in NUMBERS}
    return {
        **_device(folder),
        "mapped_name": text(folder / "dm/name"),
        "model": text(folder / "device/model"),
        # `mq-deadline` of `none [mq-deadline] kyber`
        "scheduler": matched(queue / "scheduler", r"\[(.*?)\]")
        or text(queue / "scheduler"),
        "write_cache": text(queue / "write_cache"),
        **numbers,
        "on": sorted(path.name for path in (folder / "slaves").glob("*")),
        "partitions": [
            _device(path.parent) for path in sorted(folder.glob("*/partition"))
        ],
    }


def _device(folder: Path) -> dict[str, Any]:
    """Name, number and size: the keys of the lab's `device`."""
    sectors = number(folder / "size") or 0
    return {
        "name": folder.name,
        "dev": text(folder / "dev"),
        "size_bytes": sectors * SECTOR_BYTES,
    }
