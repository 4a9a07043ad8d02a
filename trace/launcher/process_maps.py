# SPDX-License-Identifier: GPL-2.0-only
"""process_maps: read what a process has mapped, and the map of its compiled code."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

PROC = Path("/proc")
MOST_BYTES = 1 << 28  # of a map: any user's may be of any size
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) (\S+) (\d+) *(.*)")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of addresses with code in it, as /proc/PID/maps tells it (proc(5)).

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

    def file(self, pid: int, proc: Path | None = None) -> Path:
        """The file itself, wherever its name leads by now."""
        place = (proc or PROC) / str(pid) / "map_files"
        return place / f"{self.start:x}-{self.end:x}"


def read(pid: int, proc: Path | None = None) -> list[Mapping]:
    """The mappings of a process that hold code; nothing if it has ended."""
    try:
        text = ((proc or PROC) / str(pid) / "maps").read_text(errors="surrogateescape")
    except OSError:
        return []
    rows = (found.groups() for found in map(LINE.fullmatch, text.splitlines()) if found)
    return [
        Mapping(int(start, 16), int(end, 16), int(offset, 16), device, int(inode), path)
        for start, end, offset, device, inode, path in rows
    ]


class PerfMap:
    """/tmp/perf-PID.map: what a compiler at run time says of its code.

    A line is START SIZE NAME in hexadecimal digits (the kernel's
    tools/perf/Documentation/jit-interface.txt); it is the process's own /tmp and PID.
    """

    def __init__(self, pid: int) -> None:
        self._path = perf_map(pid)
        self._stamp: tuple[int, int] | None = None
        self._rows: list[tuple[int, int, str]] = []

    def function(self, address: int) -> tuple[int, str] | None:
        """Where the code that an address is in begins, and its name."""
        self._load()
        at = bisect_right(self._rows, address, key=lambda row: row[0]) - 1
        if at < 0:
            return None
        start, size, name = self._rows[at]
        return (start, name) if address < start + size else None

    def _load(self) -> None:
        """Read it where it has changed since: code is compiled all the time."""
        try:
            status = self._path.stat()
            stamp = status.st_mtime_ns, status.st_size
            is_fit = S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
            if is_fit and stamp != self._stamp:
                lines = self._path.read_text(errors="replace").splitlines()
                self._rows = sorted(filter(None, map(_row, lines)))
                self._stamp = stamp
        except OSError:
            return


def perf_map(pid: int, proc: Path | None = None) -> Path:
    """Where a process keeps its map: in a container by the number it has there."""
    home = (proc or PROC) / str(pid)
    inner = str(pid)
    try:
        for line in (home / "status").read_text().splitlines():
            if line.startswith("NSpid:"):
                inner = line.split()[-1]
    except OSError:
        pass
    return home / "root/tmp" / f"perf-{inner}.map"


def _row(line: str) -> tuple[int, int, str] | None:
    words = line.split(maxsplit=2)
    try:
        return int(words[0], 16), int(words[1], 16), words[2]
    except (IndexError, ValueError):
        return None
