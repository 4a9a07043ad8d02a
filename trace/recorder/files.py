# SPDX-License-Identifier: GPL-2.0-only
"""files: read small files of /proc and /sys, which may be missing; copy in bounds."""

from __future__ import annotations

import errno
import os
import re
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


def matched(path: Path, pattern: str) -> str | None:
    """The group of a pattern, whose `^` and `$` are those of lines; None: no match."""
    found = re.search(pattern, text(path) or "", re.MULTILINE)
    return found[1] if found else None


def number(path: Path) -> int | None:
    """The content as a number; None where there is none."""
    found = text(path)
    return int(found) if found and found.lstrip("-").isdigit() else None


def size_of(folder: Path) -> int:
    """The bytes of a folder's files."""
    found = (path.lstat() for path in folder.rglob("*"))
    return sum(status.st_size for status in found)


def copy_whole(source: int, target: Path, most_bytes: int) -> None:
    """Copy what an open file has now; what is not whole then leaves nothing.

    Of a file that grows meanwhile, and of one that the kernel makes, with a size of 0,
    no more than its size is taken. Raises OSError above so many bytes.
    """
    part = target.with_name(target.name + PART)
    left = os.fstat(source).st_size
    if left > most_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    try:
        with part.open("xb") as copy:
            while chunk := os.read(source, min(CHUNK_BYTES, left)):
                left -= len(chunk)
                copy.write(chunk)
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)
