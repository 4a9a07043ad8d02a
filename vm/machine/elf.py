# SPDX-License-Identifier: GPL-2.0-only
"""elf: read the notes of a 64-bit ELF file (elf(5))."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path

PT_NOTE = 4
GNU_BUILD_ID = (b"GNU\0", 3)  # NT_GNU_BUILD_ID
Note = tuple[bytes, int, bytes]  # owner, type, content


def _padded(size: int) -> int:
    return (size + 3) // 4 * 4


def notes(elf: bytes | mmap) -> Iterator[Note]:
    """All notes of a file's segments of notes."""
    (table,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, at, _, _, length, *_ = struct.unpack_from(
            "<IIQQQQQQ", elf, table + i * size
        )
        if kind == PT_NOTE:
            yield from _of_segment(elf, at, at + length)


def _of_segment(elf: bytes | mmap, at: int, end: int) -> Iterator[Note]:
    while at < end:
        owner_size, size, kind = struct.unpack_from("<III", elf, at)
        owner = at + 12
        text = owner + _padded(owner_size)
        yield elf[owner : owner + owner_size], kind, elf[text : text + size]
        at = text + _padded(size)


def build_id(path: Path) -> str | None:
    """What the linker made of a file's content (ld --build-id), in hex."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as elf:
        for owner, kind, content in notes(elf):
            if (owner, kind) == GNU_BUILD_ID:
                return content.hex()
    return None
