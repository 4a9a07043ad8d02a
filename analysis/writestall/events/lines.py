# SPDX-License-Identifier: GPL-2.0-only
"""lines: read a file as numbered lines, and say which of them could not be read.

A broken line never stops the rest: it is counted and named (file:line).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import msgspec

from writestall.common import workers
from writestall.events.decode import UNREADABLE
from writestall_base import files

# An event line is a few KiB: 48 frames twice, and a path.
MAX_LINE_BYTES = 1 << 20
CHUNK_BYTES = 1 << 17
# What is worth a process of its own to read it.
WORTH_A_PROCESS_BYTES = 32 << 20
WHOLE = slice(0, 1 << 62)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that could not be read: `line` is 1-based, 0 for the whole file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def _chunks(path: Path, piece: slice) -> Iterator[list[bytes]]:
    """Lines, many at a time; OSError becomes one clear line.

    A piece begins and ends where lines do.
    """
    with files.naming(path), files.opened(path, CHUNK_BYTES) as file:
        at, stop = piece.start, piece.stop
        if at:
            file.seek(at)
        while at < stop and (lines := file.readlines(CHUNK_BYTES)):
            at += sum(map(len, lines))
            while at > stop:
                at -= len(lines.pop())
            yield lines


def pieces(path: Path) -> list[slice]:
    """A file in pieces, one for each process that is to read it."""
    with files.naming(path), files.opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        edges, count = [0], workers.count(size, WORTH_A_PROCESS_BYTES)
        for at in range(1, count):
            file.seek(size * at // count)
            file.readline()
            edges.append(file.tell())
    return [slice(*ends) for ends in pairwise([*edges, WHOLE.stop])]


def lines_of(path: Path, piece: slice = WHOLE) -> Iterator[bytes]:
    """Every line of a file, or of a piece of it."""
    return chain.from_iterable(_chunks(path, piece))


def why(error: Exception) -> str:
    """One line of what msgspec or the recursion limit had to say."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).splitlines()[0]


def read(
    name: str,
    lines: Iterable[bytes],
    on_line: Callable[[int, bytes], object],
    on_other: Callable[[bytes], bool],
) -> tuple[list[Problem], int]:
    """Feeds each line that is not blank, with its number from 1, to on_line; returns
    what it could not decode, and the last line's number.

    on_other says whether a line that failed is one of another known kind.
    """
    problems, number = [], 0
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        if len(line) > MAX_LINE_BYTES:
            problems.append(Problem(name, number, "line longer than 1 MiB"))
            continue
        try:
            on_line(number, line)
        except UNREADABLE as error:
            if not on_other(line):
                problems.append(Problem(name, number, why(error)))
    return problems, number


class _Kind(msgspec.Struct):
    """Just enough of a line to know which event it is."""

    ev: str


_kind = msgspec.json.Decoder(_Kind)


def kind_of(line: bytes) -> str | None:
    """The `ev` of a well-formed line, None where there is none."""
    try:
        return _kind.decode(line).ev
    except UNREADABLE:
        return None
