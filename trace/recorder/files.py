# SPDX-License-Identifier: GPL-2.0-only
"""files: read small files of /proc and /sys, which may be missing; copy in bounds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

ROOT = Path("/")
PART = ".part"  # of a copy that is not whole yet
CHUNK_BYTES = 1 << 20


def text(path: Path) -> str | None:
    """The content without blanks around it; None where it cannot be read."""
    try:
        return path.read_text(errors="surrogateescape").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The content as a number; None where there is none."""
    found = text(path)
    return int(found) if found and found.lstrip("-").isdigit() else None


def size_of(folder: Path) -> int:
    """The bytes of a folder's files."""
    found = (path.lstat() for path in folder.rglob("*"))
    return sum(status.st_size for status in found)


def copy_whole(source: Path, target: Path, most_bytes: int) -> None:
    """Copy a file that may still grow; what is not whole then leaves nothing.

    It never takes more than so many bytes. Raises OSError.
    """
    part = target.with_name(target.name + PART)
    try:
        with source.open("rb") as file, part.open("xb") as copy:
            while chunk := file.read(CHUNK_BYTES):
                most_bytes -= len(chunk)
                if most_bytes < 0:
                    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(source))
                copy.write(chunk)
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)
