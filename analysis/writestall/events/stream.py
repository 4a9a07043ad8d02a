# SPDX-License-Identifier: GPL-2.0-only
"""stream: turns a tracer's JSON Lines into typed events and what could not be read.

Only a file that cannot be opened, or holds not one event, is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.common import machine_code, workers
from writestall.common.errors import WritestallError
from writestall.events.blocks import Blocks
from writestall.events.contract import Begin, Commit, End, Lost, Write
from writestall.events.decode import Decoder
from writestall.events.lines import (
    Numbered,
    Problem,
    chunks,
    kind_of,
    pieces,
    read,
    texts,
)

if TYPE_CHECKING:
    from writestall.events.scanner import Scanner

# With two stacks of twenty functions each.
BYTES_PER_EVENT = 1000
KNOWN_EVENTS = frozenset(("begin", "block", "write", "commit", "lost", "end"))


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


def read_stream(path: Path) -> Stream:
    """Reads a tracer's `events/*.jsonl`.

    Blocks and writes come back sorted by time; events that stand twice are kept once.
    Raises WritestallError when the file cannot be opened or holds no event at all.
    """
    places = pieces(path)
    if len(places) > 1 and _is_long(path):
        # Machine code is loaded once, not by each process.
        _scanner(Decoder())
    first, *others = workers.each(partial(_read_piece, path), places)
    for other in others:
        first.join(other)
    stream = first.stream
    if not (stream.blocks or stream.writes or stream.commits or stream.begin):
        what = stream.problems[0] if stream.problems else f"{path.name}: empty"
        raise WritestallError(f"{path.parent / str(what)}: no event could be read")
    first.twice += _sort(stream.writes)
    stream.problems += [
        Problem(path.name, number, f"same task and start as line {kept}, left out")
        for _, number, kept in first.twice
    ]
    return stream


@dataclass(slots=True)
class _Piece:
    """What a piece of a file holds, lines counted from its own first.

    twice  sleeps that were left out, as of Blocks.sort()
    """

    stream: Stream
    lines: int
    twice: list[tuple[int, int, int]]

    def join(self, next: _Piece) -> None:
        """Takes in the piece that follows."""
        stream, other, lines = self.stream, next.stream, self.lines
        stream.begin = stream.begin or other.begin
        stream.end = other.end or stream.end
        stream.commits += other.commits
        stream.lost += other.lost
        stream.writes += [(number + lines, row) for number, row in other.writes]
        stream.problems += [
            Problem(row.file, row.line + lines, row.text) for row in other.problems
        ]
        self.twice += [(t_ns, a + lines, b + lines) for t_ns, a, b in next.twice]
        self.twice = sorted(self.twice + stream.blocks.join(other.blocks, lines))
        self.lines += next.lines


def _read_piece(path: Path, piece: slice) -> _Piece:
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
        return kind_of(line) not in (None, *KNOWN_EVENTS)

    count = 0
    for others, lines in _others(path, piece, decoder):
        stream.problems += read(path.name, others, on_line, on_other)
        count += lines
    return _Piece(stream, count, sorted(stream.blocks.sort()))


def _others(
    path: Path, piece: slice, decoder: Decoder
) -> Iterator[tuple[Numbered, int]]:
    """Has the sleeps of known kinds taken in, many lines at a time.

    Gives the other lines, numbered, and how many lines there were.
    """
    first = 1
    if not _is_long(path):
        for lines in chunks(path, piece):
            yield decoder.known(lines, first), len(lines)
            first += len(lines)
        return
    scanner = _scanner(decoder)
    for text in texts(path, piece):
        others, count = scanner.known(text, first)
        yield others, count
        first += count


def _is_long(path: Path) -> bool:
    return machine_code.worth(path.stat().st_size // BYTES_PER_EVENT)


def _scanner(decoder: Decoder) -> Scanner:
    # numpy takes longer to load than a short run to explain.
    from writestall.events.scanner import Scanner

    scanner = Scanner(decoder.blocks)
    decoder.learns = scanner.learn
    return scanner


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
