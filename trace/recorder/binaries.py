# SPDX-License-Identifier: GPL-2.0-only
"""binaries: tell the build ids of the files that a task executes.

With a file's build id its symbols are found on another machine: its package, or a
server of debug information, has them by that id.
"""

from __future__ import annotations

from pathlib import Path

from launcher import elf, process_maps
from recorder.files import ROOT


def executed(pid: int, root: Path = ROOT) -> dict[str, Path]:
    """The files that a task maps to execute: their paths, and where to open each.

    /proc/PID/map_files leads to it from another mount namespace, and when the file was
    deleted (proc(5)).
    """
    proc = root / "proc"
    return {
        row.path.removesuffix(" (deleted)"): row.file(pid, proc)
        for row in process_maps.read(pid, proc)
        if row.inode and row.path.startswith("/")
    }


def build_id(path: Path) -> str | None:
    """The file's build id in hexadecimal; None where it has none."""
    try:
        with path.open("rb") as file:
            return elf.build_id(file) or None
    except OSError:
        return None
