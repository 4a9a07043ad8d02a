# SPDX-License-Identifier: GPL-2.0-only
"""packed: read compressed events as they unpack, in blocks, without a copy of them.

Nobody can seek in compressed data, so each process unpacks all of it and decodes its
share of the blocks: unpacking takes a tenth of the time that decoding does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, groupby
from pathlib import Path
from typing import TypeVar

from writestall.common import compressed, workers
from writestall.common.compressed import Bound, DamagedError, TooLargeError
from writestall.events.lines import MAX_LINE_BYTES, WORTH_A_PROCESS_BYTES
from writestall_base import files
from writestall_base.errors import UserError

# As large as what is worth a process: an open block's events are decoded one by one.
BLOCK_BYTES = WORTH_A_PROCESS_BYTES
# About how many times its size a file of events unpacks to.
USUAL_RATIO = 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """The blocks of one process: each `count`th, from `first` on."""

    first: int = 0
    count: int = 1


def is_packed(path: Path) -> bool:
    """Whether a file of events has to be read as it comes; raises UserError."""
    if str(path) == "-":
        return True
    with files.naming(path), files.opened(path) as file:
        return compressed.is_packed(file.read(compressed.MAGIC_BYTES))


def shares(path: Path) -> list[Share]:
    """One for each process that is to read a file; standard input is read once."""
    if str(path) == "-":
        return [Share()]
    size = os.lstat(path).st_size * USUAL_RATIO
    count = workers.count(size, WORTH_A_PROCESS_BYTES)
    return [Share(first, count) for first in range(count)]


def read(
    path: Path, bound: Bound, share: Share, decode: Callable[[Iterable[bytes]], T]
) -> tuple[list[T], str]:
    """What `decode` makes of the lines of each block, and how the data is damaged.

    Raises UserError where the file cannot be read, or unpacks to too much.
    """
    damage: list[str] = []
    try:
        with files.naming(path), compressed.opened(str(path), bound) as (content, _):
            pieces = _until_damage(compressed.chunks(content), damage)
            blocks = groupby(_placed(_whole_lines(pieces)), lambda one: one[0])
            found = [
                decode(chain.from_iterable(BytesIO(lines) for _, lines in block))
                for number, block in blocks
                if number % share.count == share.first
            ]
    except TooLargeError as error:
        raise UserError(f"{path}: {error}") from None
    return found, "".join(damage)


def _until_damage(pieces: Iterator[bytes], damage: list[str]) -> Iterator[bytes]:
    try:
        yield from pieces
    except DamagedError as error:
        damage.append(str(error))


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, cut at the ends of lines; a line too long to keep is cut, too."""
    rest = b""
    for piece in pieces:
        rest += piece
        cut = rest.rfind(b"\n") + 1
        if not cut and len(rest) > MAX_LINE_BYTES:
            cut = len(rest)
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    yield rest


def _placed(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The pieces with the number of their block."""
    at = 0
    for piece in pieces:
        yield at // BLOCK_BYTES, piece
        at += len(piece)
