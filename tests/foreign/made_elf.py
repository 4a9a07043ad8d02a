# SPDX-License-Identifier: GPL-2.0-only
"""made_elf: ELF files of 64 bits whose tables say what a test wants."""

from __future__ import annotations

import struct

from foreign import functions
from writestall_base import elf

IDENT = elf.MAGIC + bytes(10)
HEAD_BYTES = elf.HEADER.size


def header(segments: int, sections: int, sections_at: int) -> bytes:
    """With the program headers behind it."""
    packed = elf.HEADER.pack(
        *(62, 1, 0, HEAD_BYTES, sections_at, 0, HEAD_BYTES),
        *(elf.SEGMENT.size, segments, elf.SECTION.size, sections, 0),
    )
    return IDENT + packed[len(IDENT) :]


def segment(kind: int, offset: int, size: int) -> bytes:
    """A program header."""
    return elf.SEGMENT.pack(kind, 4, offset, offset, offset, size, size, 4)


def note(kind: int, name: bytes, data: bytes) -> bytes:
    """A note with its padding."""
    padded = [part + bytes(-len(part) % 4) for part in (name, data)]
    return struct.pack("<III", len(name), len(data), kind) + b"".join(padded)


def with_notes(notes: bytes) -> bytes:
    """A file with one segment, of these notes."""
    at = HEAD_BYTES + elf.SEGMENT.size
    return header(1, 0, 0) + segment(elf.PT_NOTE, at, len(notes)) + notes


def with_symbols(symbols: bytes, names: bytes, claimed: int | None = None) -> bytes:
    """A file with one table of symbols, which may claim another size."""
    at = HEAD_BYTES
    behind = at + len(symbols)
    size = len(symbols) if claimed is None else claimed
    rows = [
        (0,) * 10,
        (0, functions.SHT_DYNSYM, 0, 0, at, size, 2, 0, 8, functions.SYMBOL.size),
        (0, 3, 0, 0, behind, len(names), 0, 0, 1, 0),
    ]
    tables = b"".join(elf.SECTION.pack(*row) for row in rows)
    head = header(0, len(rows), behind + len(names))
    return head + symbols + names + tables


def symbol(name: int, start: int, size: int = 16) -> bytes:
    """A function by the offset of its name."""
    return functions.SYMBOL.pack(name, functions.STT_FUNC, 0, 1, start, size)
