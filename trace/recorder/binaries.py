# SPDX-License-Identifier: GPL-2.0-only
"""binaries: tell the build ids of the files that a task executes.

With a file's build id its symbols are found on another machine: its package, or a
server of debug information, has them by that id.
"""

from __future__ import annotations

import re
from pathlib import Path

from launcher import elf
from recorder.files import ROOT, text

# `7f01-7f02 r-xp 00000000 08:01 123   /usr/lib/libc.so.6` (proc(5), maps)
MAPPED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..x. \S+ \S+ [1-9]\d*\s+(/.*)")


def executed(pid: int, root: Path = ROOT) -> dict[str, Path]:
    """The files that a task maps to execute: their paths, and where to open each.

    /proc/PID/map_files leads to it from another mount namespace, and when the file was
    deleted (proc(5)).
    """
    lines = (text(root / f"proc/{pid}/maps") or "").splitlines()
    found = [match for line in lines if (match := MAPPED.fullmatch(line))]
    places = root / f"proc/{pid}/map_files"
    return {
        match[3].removesuffix(" (deleted)"): places
        / f"{int(match[1], 16):x}-{int(match[2], 16):x}"
        for match in found
    }


def build_id(path: Path) -> str | None:
    """The file's build id in hexadecimal; None where it has none."""
    try:
        with path.open("rb") as file:
            return elf.build_id(file) or None
    except OSError:
        return None
