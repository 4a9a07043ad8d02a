# SPDX-License-Identifier: GPL-2.0-only
"""disks: describe the disks of a host, and what is stacked on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from recorder.files import ROOT, number, text

SECTOR_BYTES = 512
# Documentation/ABI/stable/sysfs-block
NUMBERS = (
    "rotational",
    "nr_requests",
    "wbt_lat_usec",
    "max_sectors_kb",
    "read_ahead_kb",
)


def describe(root: Path = ROOT) -> list[dict[str, Any]]:
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
        "scheduler": _chosen(text(queue / "scheduler")),
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


def _chosen(schedulers: str | None) -> str | None:
    """`mq-deadline` of `none [mq-deadline] kyber`."""
    found = re.search(r"\[(.*?)\]", schedulers or "")
    return found[1] if found else schedulers
