# SPDX-License-Identifier: GPL-2.0-only
"""parse: turns JSON Lines into typed events, and says what could not be read.

A broken line never stops the rest: it is counted and named (file:line). Only a file
that cannot be opened, or holds not one event, is an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec
import msgspec.inspect

from writestall.blocks import Blocks
from writestall.decode import UNREADABLE, Decoder
from writestall.errors import WritestallError
from writestall.events import (
    Begin,
    ClientWrite,
    Commit,
    End,
    Lost,
    Write,
)

# An event line is a few KiB: 48 frames twice, and a path.
MAX_LINE_BYTES = 1 << 20
CHUNK_BYTES = 1 << 20
KNOWN_EVENTS = frozenset(("begin", "block", "write", "commit", "lost", "end"))
# Kinds of lines that one client's record may hold, beside `begin` and `end`.
CLIENT_KINDS = frozenset(("client_write", "pause", "request"))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that could not be read: `line` is 1-based, 0 for the whole file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(slots=True)
class Stream:
    """What one tracer wrote. Blocks and writes carry their line number as id.

    Blocks are sorted by task and time, writes by time.
    """

    file: str
    begin: Begin | None = None
    end: End | None = None
    blocks: Blocks = field(default_factory=Blocks)
    writes: list[tuple[int, Write]] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def lost_events(self) -> int:
        """Events the tracer says it lost (not stacks: those leave an event behind)."""
        told = sum(item.count for item in self.lost if item.what != "stacks")
        return max(told, (self.end.lost or 0) if self.end else 0)


def _chunks(path: Path) -> Iterator[list[bytes]]:
    """Lines, many at a time; OSError becomes one clear line."""
    try:
        with path.open("rb") as file:
            while lines := file.readlines(CHUNK_BYTES):
                yield lines
    except OSError as error:
        raise WritestallError(f"{path}: {error.strerror}") from None


Numbered = Iterable[tuple[int, bytes]]


def _lines(path: Path) -> Numbered:
    """Every line of a file with its number, from 1."""
    return enumerate(chain.from_iterable(_chunks(path)), 1)


def _why(error: Exception) -> str:
    """One line of what msgspec or the recursion limit had to say."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).splitlines()[0]


def _read(
    name: str,
    lines: Numbered,
    on_line: Callable[[int, bytes], object],
    on_other: Callable[[bytes], bool],
) -> list[Problem]:
    """Feeds each line that is not blank to on_line; returns what it could not decode.

    on_other says whether a line that failed is one of another known kind.
    """
    problems = []
    for number, line in lines:
        if line.isspace():
            continue
        if len(line) > MAX_LINE_BYTES:
            problems.append(Problem(name, number, "line longer than 1 MiB"))
            continue
        try:
            on_line(number, line)
        except UNREADABLE as error:
            if not on_other(line):
                problems.append(Problem(name, number, _why(error)))
    return problems


class _Kind(msgspec.Struct):
    """Just enough of a line to tell which event it is."""

    ev: str


_kind = msgspec.json.Decoder(_Kind)


def _kind_of(line: bytes) -> str | None:
    """The `ev` of a well-formed line, None where there is none."""
    try:
        return _kind.decode(line).ev
    except UNREADABLE:
        return None


def read_stream(path: Path) -> Stream:
    """Reads a tracer's `events/*.jsonl`.

    Blocks and writes come back sorted by time; events that stand twice are kept once.
    Raises WritestallError when the file cannot be opened or holds no event at all.
    """
    decoder = Decoder()
    stream = Stream(path.name, blocks=decoder.blocks)

    def on_line(number: int, line: bytes) -> None:
        match decoder.decode(line, number):
            case Write() as event:
                stream.writes.append((number, event))
            case Commit() as event:
                stream.commits.append(event)
            case Lost() as event:
                stream.lost.append(event)
            case Begin() as event:
                stream.begin = stream.begin or event
            case End() as event:
                stream.end = event

    def on_other(line: bytes) -> bool:
        # A kind that a later version prints is no mistake of this one's file.
        return _kind_of(line) not in (None, *KNOWN_EVENTS)

    number = 1
    for lines in _chunks(path):
        rest = decoder.known(lines, number)
        stream.problems += _read(path.name, rest, on_line, on_other)
        number += len(lines)
    if not (stream.blocks or stream.writes or stream.commits or stream.begin):
        what = stream.problems[0] if stream.problems else f"{path.name}: empty"
        raise WritestallError(f"{path.parent / str(what)}: no event could be read")
    twice = sorted(stream.blocks.sort()) + _sort(stream.writes)
    stream.problems += [
        Problem(path.name, number, f"same task and start as line {kept}, left out")
        for _, number, kept in twice
    ]
    return stream


def _sort(rows: list[tuple[int, Write]]) -> list[tuple[int, int, int]]:
    """Orders rows by time; leaves out, and returns, those that stand twice.

    As Blocks.sort() does: start in ns, line number, and that of the one kept.
    """
    rows.sort(key=lambda row: (row[1].t_ns, row[1].tid, row[0]))
    kept: list[tuple[int, Write]] = []
    twice = []
    for number, event in rows:
        if kept and (event.t_ns, event.tid) == (kept[-1][1].t_ns, kept[-1][1].tid):
            twice.append((event.t_ns, number, kept[-1][0]))
        else:
            kept.append((number, event))
    rows[:] = kept
    return twice


class Timed(Protocol):
    """A record with a start."""

    @property
    def t_ns(self) -> int: ...


R = TypeVar("R", bound=Timed)


@dataclass(slots=True)
class Records(Generic[R]):
    """Rows of one kind by start time, and the lines around them that are there."""

    rows: list[R] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    begin: dict[str, object] | None = None
    end: dict[str, object] | None = None


def read_records(path: Path, record: type[R]) -> Records[R]:
    """Reads one kind of record between its `begin` and `end` lines."""
    found: Records[R] = Records()
    info = msgspec.inspect.type_info(record)
    assert isinstance(info, msgspec.inspect.StructType)
    others = {"begin", "end", *CLIENT_KINDS} - {info.tag}

    def on_other(line: bytes) -> bool:
        kind = _kind_of(line)
        if kind == "begin":
            found.begin = msgspec.json.decode(line)
        if kind == "end":
            found.end = msgspec.json.decode(line)
        return kind in others

    decode = msgspec.json.Decoder(record).decode
    found.problems = _read(
        path.name,
        _lines(path),
        lambda _, line: found.rows.append(decode(line)),
        on_other,
    )
    found.rows.sort(key=lambda row: row.t_ns)
    return found


def read_first(path: Path) -> dict[str, object]:
    """A record's `begin` line; empty where no file is there or it begins otherwise."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, RecursionError):
        with path.open("rb") as file:
            line = file.readline(MAX_LINE_BYTES)
        if _kind_of(line) == "begin":
            return dict(msgspec.json.decode(line))
    return {}


def read_client(path: Path) -> Records[ClientWrite]:
    """Reads `writer.jsonl`: the slow writes as the client saw them."""
    return read_records(path, ClientWrite)
