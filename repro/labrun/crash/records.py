# SPDX-License-Identifier: GPL-2.0-only
"""records: make numbered records, and count those that a file kept.

A record's number gives its offset in the file, and its content follows from its head:
each can be checked by itself.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from writestall_base.kept_file import KeptFile

RECORD_BYTES = 512
HEAD = struct.Struct("<8sQQ")
MAGIC = b"wrstall1"
PROMISED = struct.Struct("<3Q")  # written to each file, of these synced, t_ns


def record(number: int, t_ns: int) -> bytes:
    """Return the record of that number, written at that time."""
    head = HEAD.pack(MAGIC, number, t_ns)
    return head + hashlib.shake_128(head).digest(RECORD_BYTES - HEAD.size)


def written_at(block: bytes, number: int) -> int | None:
    """Return when that record was written; None for another or a torn one."""
    if len(block) != RECORD_BYTES:
        return None
    _, _, t_ns = HEAD.unpack_from(block)
    return int(t_ns) if block == record(number, t_ns) else None


@dataclass(frozen=True)
class Promise:
    """Records that write(2) and fsync(2) acknowledged, and the time of the
    last write."""

    written: int
    synced: int
    t_ns: int


def judge(data: bytes, promise: Promise) -> KeptFile:
    """Compare a file with its promise; treat an absent file as empty."""
    blocks = [data[at : at + RECORD_BYTES] for at in range(0, len(data), RECORD_BYTES)]
    times = [written_at(block, number) for number, block in enumerate(blocks)]
    times += [None] * (promise.written - len(times))
    there = [t_ns is not None for t_ns in times]
    first_lost = [*there[: promise.written], False].index(False)
    last_ns = times[first_lost - 1] if first_lost else None
    return KeptFile(
        written=promise.written,
        synced=promise.synced,
        lost=there[: promise.written].count(False),
        lost_synced=there[: promise.synced].count(False),
        torn=there[: len(blocks)].count(False),
        lost_ms=None if last_ns is None else (promise.t_ns - last_ns) / 1e6,
    )
