# SPDX-License-Identifier: GPL-2.0-only
"""records: make numbered records, and count those that a file kept.

A record's place in the file is its number, and its filling follows from its head: so
each says of itself whether it is whole and where it belongs.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

RECORD_BYTES = 512
HEAD = struct.Struct("<8sQQ")
MAGIC = b"wrstall1"
PROMISED = struct.Struct("<3Q")  # written to each file, of these synced, t_ns


def record(number: int, t_ns: int) -> bytes:
    """The record of that number, written at that time."""
    head = HEAD.pack(MAGIC, number, t_ns)
    return head + hashlib.shake_128(head).digest(RECORD_BYTES - HEAD.size)


def written_at(block: bytes, number: int) -> int | None:
    """When the record of that number was written; None: this is not it, or torn."""
    if len(block) != RECORD_BYTES:
        return None
    _, _, t_ns = HEAD.unpack_from(block)
    return int(t_ns) if block == record(number, t_ns) else None


@dataclass(frozen=True)
class Promise:
    """How many records the kernel took, how many of those fsync(2) confirmed, and when
    the last one was taken."""

    written: int
    synced: int
    t_ns: int


@dataclass(frozen=True)
class Kept:
    """What a file holds of what was promised, in records.

    `lost_ms` is how far back the file ends: from the last record that was taken to the
    last before the first that is missing; None where not even the first one is there.
    """

    written: int
    synced: int
    lost: int
    lost_synced: int
    torn: int
    lost_ms: float | None


def judge(data: bytes, promise: Promise) -> Kept:
    """Compare a file with what was promised of it; an absent file is an empty one."""
    blocks = [data[at : at + RECORD_BYTES] for at in range(0, len(data), RECORD_BYTES)]
    times = [written_at(block, number) for number, block in enumerate(blocks)]
    times += [None] * (promise.written - len(times))
    there = [t_ns is not None for t_ns in times]
    first_lost = [*there[: promise.written], False].index(False)
    last_ns = times[first_lost - 1] if first_lost else None
    return Kept(
        written=promise.written,
        synced=promise.synced,
        lost=there[: promise.written].count(False),
        lost_synced=there[: promise.synced].count(False),
        torn=there[: len(blocks)].count(False),
        lost_ms=None if last_ns is None else (promise.t_ns - last_ns) / 1e6,
    )
