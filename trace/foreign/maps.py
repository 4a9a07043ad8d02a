# SPDX-License-Identifier: GPL-2.0-only
"""maps: read what a process has mapped of programs: code and variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from foreign import files

# Any user may have 65530 mappings (vm.max_map_count), each with a path of 4 KiB.
MOST_BYTES, MOST_CODE_BYTES = 16 << 20, 1 << 20
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (..x.|rw.p) ([0-9a-f]+) (\S+) (\d+) *(.*)")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of addresses as /proc/PID/maps shows it (proc(5)).

    `path` is that of a file, a name like [vdso], or nothing for memory of no file.
    `behind` is the mapping of a file that this memory goes on from.
    """

    start: int
    end: int
    offset: int
    device: str
    inode: int
    path: str
    behind: Mapping | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is of a file that has symbols."""
        return self.inode != 0 and not self.path.startswith("/memfd:")


def read(pid: int, proc: Path = files.PROC) -> list[Mapping]:
    """The mappings of a process that hold code, and the variables of files; nothing if
    it has ended. Those beyond 1 MiB of their lines are left out.

    Variables that begin as zeroes lie behind those of the file, as part of no file
    (fs/binfmt_elf.c, elf_load(), before 6.6 set_brk(); elf(5), p_memsz).
    """
    found, left = list[Mapping](), MOST_CODE_BYTES
    for line in files.lines(pid, "maps", MOST_BYTES, proc):
        if row := LINE.fullmatch(line):
            left -= len(line)
            if left < 0:
                break
            start, end, rights, offset, device, inode, path = row.groups()
            numbers = int(start, 16), int(end, 16), int(offset, 16)
            behind = None if path else _before(found, numbers[0])
            one = Mapping(*numbers, device, int(inode), path, behind)
            if "x" in rights or one.is_file or behind:
                found.append(one)
    return found


def _before(rows: list[Mapping], start: int) -> Mapping | None:
    """The mapping of a file that ends there, if it is the last one."""
    return rows[-1] if rows and rows[-1].is_file and rows[-1].end == start else None
