# SPDX-License-Identifier: GPL-2.0-only
"""volatile: take from a disk what a volatile cache would have lost in a power cut.

QEMU logs a disk's writes and flushes in the order in which they were done, as
dm-log-writes does (QEMU, block/blklogwrites.c; Linux,
Documentation/admin-guide/device-mapper/log-writes.rst). A disk with a volatile cache
may lose any write that no later flush followed. An entry has its place in the log
before it is written, so that a machine that ends amid its writes may leave a gap.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from writestall_base.errors import UserError

SUPER = struct.Struct("<QQQI")  # magic, version, entries, bytes of a sector
MAGIC, VERSION = 0x6A736677736872, 1
ENTRY = struct.Struct("<QQQQ")  # sector, sectors, flags, bytes of a mark
FLUSH, FUA, DISCARD = 1, 2, 4


@dataclass(frozen=True)
class Write:
    """A write or a flush of a log: bytes on the disk, and where its data is."""

    at: int
    length: int
    flags: int
    data_at: int


@dataclass(frozen=True)
class Lost:
    """How many of the writes that no flush followed were lost."""

    unflushed: int
    lost: int


def _writes(log: BinaryIO, path: Path) -> Iterator[Write]:
    """The entries of a log. Raises UserError."""
    head = log.read(SUPER.size)
    if len(head) < SUPER.size or SUPER.unpack(head)[:2] != (MAGIC, VERSION):
        raise UserError(f"{path}: not a log of writes: the disk was never flushed")
    sector_bytes = SUPER.unpack(head)[3]
    at, end = sector_bytes, path.stat().st_size
    while at + ENTRY.size <= end:
        log.seek(at)
        sector, sectors, flags, _ = ENTRY.unpack(log.read(ENTRY.size))
        if not (sectors or flags):
            raise UserError(f"{path}: an entry was not written at {at}: cut once more")
        data_at, length = at + sector_bytes, sectors * sector_bytes
        yield Write(sector * sector_bytes, length, flags, data_at)
        at = data_at + (0 if flags & DISCARD else length)


def lose(disk: Path, log: Path, seed: str, chance: float) -> Lost:
    """Make the disk what its log says without the writes that are lost.

    Each write behind the last flush is lost with that chance. What a discard discards
    stays: nobody may rely on it being gone.
    """
    source = random.Random(seed)
    with log.open("rb") as entries:
        found = list(_writes(entries, log))
        flushes = [at for at, one in enumerate(found) if one.flags & FLUSH]
        last = flushes[-1] if flushes else -1
        unflushed = lost = 0
        part = disk.with_name(f"{disk.name}.part")
        with part.open("wb") as made:
            made.truncate(disk.stat().st_size)
            for at, one in enumerate(found):
                if one.flags & DISCARD or not one.length:
                    continue
                if at > last and not one.flags & FUA:
                    unflushed += 1
                    if source.random() < chance:
                        lost += 1
                        continue
                entries.seek(one.data_at)
                made.seek(one.at)
                made.write(entries.read(one.length))
    part.replace(disk)
    return Lost(unflushed, lost)
