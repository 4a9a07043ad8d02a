# SPDX-License-Identifier: GPL-2.0-only
"""perf_map: read what a compiler at run time says of its code, /tmp/perf-PID.map.

A line is START SIZE NAME in hexadecimal digits (the kernel's
tools/perf/Documentation/jit-interface.txt).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from foreign.files import PERF_MAP_BYTES
from foreign.symbol_table import Table

CHUNK_BYTES = 1 << 16
LINE_BYTES = 4096  # of a longer line, what follows is left out
HEX = rb"(?:0x)?([0-9a-fA-F]{1,16})"
LINE = re.compile(rb"\s*%b\s+%b\s+(\S.*)" % (HEX, HEX))


def read(fd: int) -> Table:
    """The functions of a map. Raises ValueError if they are too many."""
    table = Table(newest=True)
    for line in _lines(fd):
        row = LINE.match(line)
        if row and int(row[2], 16):
            table.add(int(row[1], 16), int(row[2], 16), row[3])
    table.sort()
    return table


def _lines(fd: int) -> Iterator[bytes]:
    """The lines of the first PERF_MAP_BYTES."""
    at, rest = 0, b""
    while at < PERF_MAP_BYTES and (chunk := os.pread(fd, CHUNK_BYTES, at)):
        at += len(chunk)
        *whole, rest = (rest[:LINE_BYTES] + chunk).split(b"\n")
        yield from whole
    yield rest
