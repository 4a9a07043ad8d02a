# SPDX-License-Identifier: GPL-2.0-only
"""functions: find the functions and variables of an ELF file by their addresses.

A stripped file has the names that it exports; its debug file, found by its build id,
has all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from itertools import islice

from foreign.symbol_table import MOST_NAME_BYTES, Table
from writestall_base.elf import PT_LOAD, Elf

SYMBOL = struct.Struct("<IBBHQQ")
SHT_SYMTAB, SHT_DYNSYM = 2, 11
SHF_WRITE = 1
STT_OBJECT, STT_FUNC, STT_GNU_IFUNC = 1, 2, 10
MOST_SEGMENTS = 128  # that are loaded


@dataclass(slots=True)
class Functions:
    """What is known of one file; addresses are those in the file."""

    # Offset, size and address of what is loaded.
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    functions: Table = field(default_factory=Table)

    @property
    def held_bytes(self) -> int:
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


def read(fd: int, debug: int | None = None) -> Functions:
    """Read a file, and its debug file; nothing is found in one that is not ELF.

    Raises ValueError if a table, or the number of symbols, is above its bound.
    """
    whole = Elf.of_file(fd)
    found = Functions(whole.segments(PT_LOAD, MOST_SEGMENTS))
    for elf in (whole, *([Elf.of_file(debug)] if debug is not None else [])):
        for row in _functions(elf):
            found.functions.add(*row)
    found.functions.sort()
    return found


def _functions(elf: Elf) -> Iterator[tuple[int, int, bytes]]:
    """Start, size and name of functions, and of variables that can be written, as a
    futex must be: of one table of each kind (elf(5))."""
    sections = elf.sections()
    written = {at for at, row in enumerate(sections) if row[2] & SHF_WRITE}
    for wanted in (SHT_SYMTAB, SHT_DYNSYM):
        rows = (row for row in sections if row[1] == wanted)
        for _, _, _, _, offset, size, link, _, _, each in islice(rows, 1):
            if each == SYMBOL.size and link < len(sections):
                names = elf.read(sections[link][4], sections[link][5])
                yield from _named(elf.read(offset, size), names, written)


def _named(
    data: bytes, names: bytes, written: Set[int]
) -> Iterator[tuple[int, int, bytes]]:
    whole = memoryview(data)[: len(data) - len(data) % SYMBOL.size]
    for name, info, _, section, value, size in SYMBOL.iter_unpack(whole):
        kind = info & 15
        is_variable = kind == STT_OBJECT and section in written
        if is_variable or (section and kind in (STT_FUNC, STT_GNU_IFUNC)):
            text = names[name : name + MOST_NAME_BYTES]
            yield value, size, text.partition(b"\0")[0]
