# SPDX-License-Identifier: GPL-2.0-only
"""binaries: tell the build ids of the files that a task executes.

With a file's build id its symbols are found on another machine: its package, or a
server of debug information, has them by that id.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from recorder.files import ROOT, text

# elf(5). All of a 64-bit file, least significant byte first.
MAGIC = b"\x7fELF\x02\x01"
HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
NOTE = struct.Struct("<III")
PT_NOTE, NT_GNU_BUILD_ID = 4, 3
MOST_NOTES = 1 << 16
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
            header = file.read(HEADER.size)
            if len(header) < HEADER.size or not header.startswith(MAGIC):
                return None
            _, _, _, _, at, _, _, _, size, count, _, _, _ = HEADER.unpack(header)
            file.seek(at)
            table = file.read(size * count)
            for offset in range(0, size * count, size or 1):
                kind, _, start, _, _, length, _, _ = SEGMENT.unpack_from(table, offset)
                if kind == PT_NOTE and length <= MOST_NOTES:
                    file.seek(start)
                    if found := _build_id(file.read(length)):
                        return found
    except (OSError, struct.error):
        pass
    return None


def _build_id(notes: bytes) -> str | None:
    """The build id among a segment's notes: each field is padded to 4 bytes."""
    at = 0
    while at + NOTE.size <= len(notes):
        name_size, size, kind = NOTE.unpack_from(notes, at)
        name_at = at + NOTE.size
        start = name_at + (name_size + 3 & ~3)
        name = notes[name_at : name_at + name_size]
        if kind == NT_GNU_BUILD_ID and name == b"GNU\0":
            return notes[start : start + size].hex()
        at = start + (size + 3 & ~3)
    return None
