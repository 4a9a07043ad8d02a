# SPDX-License-Identifier: GPL-2.0-only
"""elf: find the functions of an ELF file by their addresses.

The structures are those of <elf.h> and of elf(5), of 64 bits, little-endian: what the
tracers' machines run. A stripped file has the names that it exports; its debug file,
found by its build id, has all of them.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
DEBUG = Path("/usr/lib/debug/.build-id")
MOST_BYTES = 1 << 28  # of one table: any user's file may claim more


class Function(NamedTuple):
    """A function; `size` is 0 where the assembler gave it none."""

    start: int
    size: int
    name: str


@dataclass(slots=True)
class Elf:
    """What is known of one file; addresses are those in the file."""

    # Offset, size and address of what is loaded.
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def address(self, offset: int) -> int:
        """The address of what is at an offset of the file."""
        for start, size, address in self.segments:
            if start <= offset < start + size:
                return offset - start + address
        return offset

    def function(self, address: int) -> Function | None:
        """The function that an address is in."""
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        found = self.functions[at]
        ends = found.start + found.size
        return found if not found.size or address < ends else None


def read(file: BinaryIO, debug: Path = DEBUG) -> Elf:
    """Read a file and its debug file; nothing is found in one that is not ELF."""
    whole = _Reader(file)
    found = Elf(whole.segments(PT_LOAD))
    functions = list(whole.functions())
    told = whole.build_id()
    beside = debug / told[:2] / f"{told[2:]}.debug"
    if told and beside.is_file():
        with beside.open("rb") as more:
            functions += _Reader(more).functions()
    # Of aliases the one that a program calls: fsync, not __GI_fsync.
    functions.sort(key=lambda row: (row.start, row.name.startswith("_"), row.name))
    for row in functions:
        if not found.starts or found.starts[-1] != row.start:
            found.starts.append(row.start)
            found.functions.append(row)
    return found


def build_id(file: BinaryIO) -> str:
    """A file's build id in hexadecimal digits; empty without one."""
    return _Reader(file).build_id()


class _Reader:
    """The tables of one file. A file that lies ends the reading, not the program."""

    def __init__(self, file: BinaryIO) -> None:
        self._fd = file.fileno()
        head = self._read(0, 64)
        self._header: tuple[int, ...] | None = None
        if head.startswith(MAGIC) and len(head) == HEADER.size:
            self._header = HEADER.unpack(head)

    def _read(self, offset: int, size: int) -> bytes:
        if size > MOST_BYTES or offset >= 1 << 62:
            return b""
        return os.pread(self._fd, size, offset)

    def _table(self, at: int, form: struct.Struct) -> Iterator[tuple[int, ...]]:
        """The rows of the program headers (0) or section headers (1)."""
        if not self._header:
            return
        _, _, _, segments, sections, _, _, size, count, size_2, count_2, _ = (
            self._header
        )
        offset, size, count = ((segments, size, count), (sections, size_2, count_2))[at]
        data = self._read(offset, size * count)
        if size == form.size and len(data) == size * count:
            yield from form.iter_unpack(data)

    def segments(self, kind: int) -> list[tuple[int, int, int]]:
        """Offset, size and address of the segments of a kind."""
        rows = self._table(0, SEGMENT)
        return [(row[2], row[5], row[3]) for row in rows if row[0] == kind]

    def build_id(self) -> str:
        """The build id in hexadecimal digits; empty without one."""
        for offset, size, _ in self.segments(PT_NOTE):
            data = self._read(offset, size)
            at = 0
            while at + NOTE.size <= len(data):
                named, described, kind = NOTE.unpack_from(data, at)
                name_at = at + NOTE.size
                text_at = name_at + (named + 3) // 4 * 4
                name = data[name_at : name_at + named]
                if kind == NT_GNU_BUILD_ID and name == b"GNU\0":
                    return data[text_at : text_at + described].hex()
                at = text_at + (described + 3) // 4 * 4
        return ""

    def functions(self) -> Iterator[Function]:
        """The functions of the symbol tables."""
        sections = list(self._table(1, SECTION))
        for _, kind, _, _, offset, size, link, _, _, each in sections:
            if kind not in (SHT_SYMTAB, SHT_DYNSYM) or each != SYMBOL.size:
                continue
            if link < len(sections):
                names = self._read(sections[link][4], sections[link][5])
                yield from _functions(self._read(offset, size), names)


def _functions(data: bytes, names: bytes) -> Iterator[Function]:
    whole = len(data) - len(data) % SYMBOL.size
    for name, info, _, section, value, size in SYMBOL.iter_unpack(data[:whole]):
        if section and info & 15 in (STT_FUNC, STT_GNU_IFUNC):
            end = names.find(b"\0", name)
            text = names[name:end].decode(errors="replace")
            yield Function(value, size, text)
