# SPDX-License-Identifier: GPL-2.0-only
"""elf: read the tables and the build id of an ELF file.

The structures are those of <elf.h> and of elf(5), of 64 bits, little-endian. The file
may be any user's: what is read of it is bounded, whatever its tables claim.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

MAGIC = b"\x7fELF\x02\x01"  # ELFCLASS64, ELFDATA2LSB
HEADER = struct.Struct("<16x2xHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
NOTE = struct.Struct("<III")
PT_LOAD, PT_NOTE = 1, 4
TABLE_BYTES = 32 << 20
MOST_NOTES, NOTES_BYTES = 16, 64 << 10
GNU_BUILD_ID = b"GNU\0", 3  # NT_GNU_BUILD_ID
MOST_ID = 64  # bytes of a build id
Read = Callable[[int, int], bytes]  # so many bytes from an offset on


class Elf:
    """The tables of one file. A table that is cut off is none, and a file that is not
    ELF has none.

    Raises ValueError if a table is above its bound.
    """

    def __init__(self, read: Read) -> None:
        self._bytes = read
        head = read(0, HEADER.size)
        self._header: tuple[int, ...] | None = None
        if head.startswith(MAGIC) and len(head) == HEADER.size:
            self._header = HEADER.unpack(head)

    @staticmethod
    def of_file(fd: int) -> Elf:
        """That of an open file."""
        return Elf(lambda offset, size: os.pread(fd, size, offset))

    @staticmethod
    def of_bytes(data: bytes) -> Elf:
        """That of a file's content."""
        return Elf(lambda offset, size: data[offset : offset + size])

    def read(self, offset: int, size: int) -> bytes:
        """What is at an offset of the file."""
        if size > TABLE_BYTES:
            raise ValueError(f"it has a table of more than {TABLE_BYTES >> 20} MiB")
        return self._bytes(offset, size) if offset < 1 << 62 else b""

    def segments(self, kind: int, most: int) -> list[tuple[int, int, int]]:
        """Offset, size and address of the first segments of a kind; the size in memory,
        which has what the file leaves out as zeroes."""
        rows = (row for row in self._table(0, SEGMENT) if row[0] == kind)
        return [(row[2], max(row[5:7]), row[3]) for row in islice(rows, most)]

    def sections(self) -> list[tuple[int, ...]]:
        """The section headers."""
        return list(self._table(1, SECTION))

    def notes(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Owner, type and content of the notes."""
        left = NOTES_BYTES
        for offset, size, _ in self.segments(PT_NOTE, MOST_NOTES):
            data = self.read(offset, min(size, left))
            left -= len(data)
            at = 0
            while at + NOTE.size <= len(data):
                named, described, kind = NOTE.unpack_from(data, at)
                name_at = at + NOTE.size
                text_at = name_at + (named + 3) // 4 * 4
                name = data[name_at : name_at + named]
                yield name, kind, data[text_at : text_at + described]
                at = text_at + (described + 3) // 4 * 4

    def build_id(self) -> str:
        """What the linker made of the content (ld --build-id), in hexadecimal digits;
        empty without one."""
        found = (text for *what, text in self.notes() if tuple(what) == GNU_BUILD_ID)
        return next(found, b"")[:MOST_ID].hex()

    def _table(self, at: int, form: struct.Struct) -> Iterator[tuple[int, ...]]:
        """The rows of the program headers (0) or section headers (1)."""
        if not self._header:
            return
        _, _, _, segments, sections, _, _, size, count, size_2, count_2, _ = (
            self._header
        )
        offset, size, count = ((segments, size, count), (sections, size_2, count_2))[at]
        if size != form.size:
            return
        data = self.read(offset, size * count)
        if len(data) == size * count:
            yield from form.iter_unpack(data)


def build_id(path: Path) -> str:
    """The build id of the file at a path."""
    with path.open("rb") as file:
        return Elf.of_file(file.fileno()).build_id()
