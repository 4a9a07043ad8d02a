# SPDX-License-Identifier: GPL-2.0-only
"""host: describe the machine: distribution, processors, memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from recorder.files import ROOT, text

# What decides when dirty pages are written (Documentation/admin-guide/sysctl/vm.rst).
SYSCTLS = (
    *("dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio"),
    *("dirty_expire_centisecs", "dirty_writeback_centisecs"),
    *("dirtytime_expire_seconds", "laptop_mode", "swappiness"),
)


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
    content = text(root / "etc/os-release") or ""
    found = re.search(r'^PRETTY_NAME="?(.*?)"?$', content, re.MULTILINE)
    return found[1] if found else None


def _meminfo(root: Path, name: str) -> int | None:
    content = text(root / "proc/meminfo") or ""
    found = re.search(rf"^{name}:\s+(\d+) kB$", content, re.MULTILINE)
    return int(found[1]) << 10 if found else None
