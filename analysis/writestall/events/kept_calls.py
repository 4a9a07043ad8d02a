# SPDX-License-Identifier: GPL-2.0-only
"""kept_calls: unpack the calls of a `calls` event; bpf/core/output/kept_calls.c packs.
A file for repro/replay has the same rows, behind HEAD and the files, docs/replay.md.

Needs no library: `record --redact` looks at them, too.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

ROW = struct.Struct("<qqIiIHBB")
HEAD = struct.Struct("<8sIIqQQ")
# Size, kind, and 1 + what is allocated in BLOCKs; 0: unknown.
FILE = struct.Struct("<QB3xI")
BLOCK = 4096
MOST_BLOCKS = (1 << 32) - 1
MOST_ROWS = 2048
TOOK_NS = 64
# enum keep of bpf/core/rows.h, from 2 on.
OPERATIONS = tuple(
    "write read fsync fdatasync sync_range open close unlink rename truncate"
    " allocate syncfs msync fault wake".split()
)
FIRST_OPERATION = 2
FAILED = 128
WAKE = 16  # of task `tid` by that of `offset`, which is no call


class Call(NamedTuple):
    """A row, as bpf/core/rows.h has it (struct kept_row)."""

    t_ns: int
    offset: int
    took: int
    tid: int
    bytes: int
    file: int
    op: int
    flags: int

    @property
    def operation(self) -> str:
        at = self.op - FIRST_OPERATION
        return OPERATIONS[at] if 0 <= at < len(OPERATIONS) else "other"

    @property
    def dur_ns(self) -> int:
        return self.took * TOOK_NS


def packed_rows(text: str, count: int) -> bytes:
    """The rows of an event, one behind the other; raises ValueError for none such."""
    if not 0 <= count <= MOST_ROWS:
        raise ValueError(count)
    size, unpacker = count * ROW.size, zlib.decompressobj()
    try:
        planes = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(planes) != size or not unpacker.eof or unpacker.unused_data:
        raise ValueError(f"{len(planes)} bytes")
    rows = bytearray(size)
    for byte in range(ROW.size if count else 0):
        rows[byte :: ROW.size] = planes[byte * count : (byte + 1) * count]
    return bytes(rows)


def calls(text: str, count: int) -> Iterator[Call]:
    """The calls of an event; raises ValueError as packed_rows() does."""
    return map(Call._make, ROW.iter_unpack(packed_rows(text, count)))
