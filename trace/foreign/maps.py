# SPDX-License-Identifier: GPL-2.0-only
"""maps: read what a process has mapped to execute."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from foreign import files

# Any user may have 65530 mappings (vm.max_map_count), each with a path of 4 KiB.
MOST_BYTES, MOST_CODE_BYTES = 16 << 20, 1 << 20
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) (\S+) (\d+) *(.*)")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of addresses with code in it, as /proc/PID/maps shows it (proc(5)).

    `path` is that of a file, a name like [vdso], or nothing for memory of no file.
    """

    start: int
    end: int
    offset: int
    device: str
    inode: int
    path: str

    @property
    def is_file(self) -> bool:
        """Whether it is of a file that has symbols."""
        return self.inode != 0 and not self.path.startswith("/memfd:")


def read(pid: int, proc: Path = files.PROC) -> list[Mapping]:
    """The mappings of a process that hold code; nothing if it has ended.

    Those beyond 1 MiB of their lines are left out.
    """
    found, left = list[Mapping](), MOST_CODE_BYTES
    for line in files.lines(pid, "maps", MOST_BYTES, proc):
        if row := LINE.fullmatch(line):
            left -= len(line)
            if left < 0:
                break
            start, end, offset, device, inode, path = row.groups()
            numbers = int(start, 16), int(end, 16), int(offset, 16)
            found.append(Mapping(*numbers, device, int(inode), path))
    return found
