# SPDX-License-Identifier: GPL-2.0-only
"""elf: find the functions of an ELF file by their addresses, and its build id.

The structures are those of <elf.h> and of elf(5), of 64 bits, little-endian: what the
tracers' machines run. A stripped file has the names that it exports; its debug file,
found by its build id, has all of them. The file is any user's: what is read of it is
bounded, whatever its tables claim.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from foreign.symbol_table import MOST_NAME_BYTES, Table

MAGIC = b"\x7fELF\x02\x01"  # ELFCLASS64, ELFDATA2LSB
HEADER = struct.Struct("<16x2xHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
NOTE = struct.Struct("<III")
PT_LOAD, PT_NOTE = 1, 4
SHT_SYMTAB, SHT_DYNSYM = 2, 11
STT_FUNC, STT_GNU_IFUNC = 2, 10
NT_GNU_BUILD_ID = 3
TABLE_BYTES = 32 << 20
MOST_NOTES, NOTES_BYTES = 16, 64 << 10
MOST_SEGMENTS = 128  # that are loaded
MOST_ID = 64  # bytes of a build id


@dataclass(slots=True)
class Elf:
    """What is known of one file; addresses are those in the file."""

    # Offset, size and address of what is loaded.
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    functions: Table = field(default_factory=Table)

    @property
    def held_bytes(self) -> int:
        """The memory that it takes."""
        return self.functions.held_bytes

    def address(self, offset: int) -> int:
        """The address of what is at an offset of the file."""
        for start, size, address in self.segments:
            if start <= offset < start + size:
                return offset - start + address
        return offset

    def find(self, offset: int) -> tuple[int, str | None]:
        """How far behind a function's start an offset is, and its name.

        Without one, the address and no name.
        """
        address = self.address(offset)
        return self.functions.find(address) or (address, None)


def read(fd: int, debug: int | None = None) -> Elf:
    """Read a file, and its debug file; nothing is found in one that is not ELF.

    Raises ValueError if a table, or the number of symbols, is above its bound.
    """
    whole = _Reader(fd)
    found = Elf(whole.segments(PT_LOAD, MOST_SEGMENTS))
    for reader in (whole, *([_Reader(debug)] if debug is not None else [])):
        for row in reader.functions():
            found.functions.add(*row)
    found.functions.sort()
    return found


def build_id(fd: int) -> str:
    """A file's build id in hexadecimal digits; empty without one."""
    return _Reader(fd).build_id()


class _Reader:
    """The tables of one file. A table that is cut off is none."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        head = os.pread(fd, HEADER.size, 0)
        self._header: tuple[int, ...] | None = None
        if head.startswith(MAGIC) and len(head) == HEADER.size:
            self._header = HEADER.unpack(head)

    def _read(self, offset: int, size: int) -> bytes:
        if size > TABLE_BYTES:
            raise ValueError(f"it has a table of more than {TABLE_BYTES >> 20} MiB")
        return os.pread(self._fd, size, offset) if offset < 1 << 62 else b""

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
        data = self._read(offset, size * count)
        if len(data) == size * count:
            yield from form.iter_unpack(data)

    def segments(self, kind: int, most: int) -> list[tuple[int, int, int]]:
        """Offset, size and address of the first segments of a kind."""
        rows = (row for row in self._table(0, SEGMENT) if row[0] == kind)
        return [(row[2], row[5], row[3]) for row in islice(rows, most)]

    def build_id(self) -> str:
        """The build id in hexadecimal digits; empty without one."""
        left = NOTES_BYTES
        for offset, size, _ in self.segments(PT_NOTE, MOST_NOTES):
            data = self._read(offset, min(size, left))
            left -= len(data)
            at = 0
            while at + NOTE.size <= len(data):
                named, described, kind = NOTE.unpack_from(data, at)
                name_at = at + NOTE.size
                text_at = name_at + (named + 3) // 4 * 4
                name = data[name_at : name_at + named]
                if kind == NT_GNU_BUILD_ID and name == b"GNU\0":
                    return data[text_at : text_at + min(described, MOST_ID)].hex()
                at = text_at + (described + 3) // 4 * 4
        return ""

    def functions(self) -> Iterator[tuple[int, int, bytes]]:
        """Start, size and name of the functions: of one table of each kind (elf(5))."""
        sections = list(self._table(1, SECTION))
        for wanted in (SHT_SYMTAB, SHT_DYNSYM):
            rows = (row for row in sections if row[1] == wanted)
            for _, _, _, _, offset, size, link, _, _, each in islice(rows, 1):
                if each == SYMBOL.size and link < len(sections):
                    names = self._read(sections[link][4], sections[link][5])
                    yield from _functions(self._read(offset, size), names)


def _functions(data: bytes, names: bytes) -> Iterator[tuple[int, int, bytes]]:
    whole = memoryview(data)[: len(data) - len(data) % SYMBOL.size]
    for name, info, _, section, value, size in SYMBOL.iter_unpack(whole):
        if section and info & 15 in (STT_FUNC, STT_GNU_IFUNC):
            text = names[name : name + MOST_NAME_BYTES]
            yield value, size, text.partition(b"\0")[0]
