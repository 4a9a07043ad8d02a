# SPDX-License-Identifier: GPL-2.0-only
"""stream: read a tracer's JSON Lines as typed events, and say what is no event.

Only a file that cannot be opened, or holds not one event, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args

from writestall.common import workers
from writestall.common.compressed import DEFAULT, Bound
from writestall.events import packed
from writestall.events.blocks import Blocks, Duplicate
from writestall.events.contract import (
    Begin,
    Calls,
    Cgroup,
    Commit,
    End,
    Event,
    File,
    Handles,
    Io,
    Ios,
    Lost,
    Write,
)
from writestall.events.decode import Decoder
from writestall.events.lines import Problem, kind_of, lines_of, pieces, read
from writestall_base.errors import UserError

KNOWN_EVENTS = frozenset(event.__struct_config__.tag for event in get_args(Event))
# Losses that take something from what is known of a sleep, not the sleep.
LEAVE_THE_SLEEP = frozenset(("stacks", "ios", "depths", "locks"))


@dataclass(slots=True)
class Stream:
    """What one tracer wrote. Blocks, writes and I/Os carry their line number as id.

    `waits` are interruptible sleeps, `blocks` the others; both are sorted by task and
    time, writes by time, I/Os by their end. `cgroups` has paths by the version of the
    hierarchy and id, `io_max` what limits them by path, `damage` says how compressed
    events end early.
    """

    file: str
    begin: Begin | None = None
    end: End | None = None
    blocks: Blocks = field(default_factory=Blocks)
    waits: Blocks = field(default_factory=Blocks)
    writes: list[tuple[int, Write]] = field(default_factory=list)
    ios: list[tuple[int, Io]] = field(default_factory=list)
    series: list[Ios] = field(default_factory=list)
    calls: list[Calls] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    cgroups: dict[tuple[int, int], str] = field(default_factory=dict)
    io_max: dict[str, str] = field(default_factory=dict)
    handles: list[Handles] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    damage: str = ""

    @property
    def limit_ns(self) -> int:
        """How long a stall is at least; 0 where no `begin` line says it."""
        return self.begin.stall_ns if self.begin else 0

    @property
    def lost_events(self) -> int:
        """Sleeps and calls the tracer says it lost: those of which no event is left."""
        reported = sum(item.count for item in self.lost)
        left = sum(item.count for item in self.lost if item.what in LEAVE_THE_SLEEP)
        return max(reported, (self.end.lost or 0) if self.end else 0) - left


def read_stream(path: Path, bound: Bound = DEFAULT) -> Stream:
    """Reads a tracer's `events/*.jsonl`, compressed or not; `-` is standard input.

    Blocks and writes come back sorted by time, duplicates dropped.
    Raises UserError when the file cannot be opened, unpacks to more than its
    bound, or holds no event at all.
    """
    name = "stdin" if str(path) == "-" else path.name
    decode = partial(_read_rows, name)
    if packed.is_packed(path):
        found = workers.each(
            lambda share: packed.read(path, bound, share, decode), packed.shares(path)
        )
    else:
        found = workers.each(
            lambda piece: ([decode(lines_of(path, piece))], ""), pieces(path)
        )
    # A block of each in turn, as they stand in the file.
    in_turn = zip_longest(*(of_one for of_one, _ in found))
    first, *others = (piece for row in in_turn for piece in row if piece)
    for other in others:
        first.join(other)
    stream = first.stream
    stream.damage = found[0][1]
    if not (stream.blocks or stream.writes or stream.commits or stream.begin):
        raise no_event(path, stream.problems)
    return first.in_order()


def no_event(path: Path, problems: list[Problem]) -> UserError:
    """The error of a file that holds not one event."""
    what = problems[0] if problems else f"{path.name}: empty"
    return UserError(f"{path.parent / str(what)}: no event could be read")


def stream_of(name: str, lines: Iterable[bytes]) -> Stream:
    """The stream of lines that are at hand, such as those of a window of time.

    There may be none. `name` is what problems call them.
    """
    return _read_rows(name, lines).in_order()


def is_to_come(line: bytes) -> bool:
    """Whether a line is of a kind that a later version prints: that is no mistake."""
    return kind_of(line) not in (None, *KNOWN_EVENTS)


@dataclass(slots=True)
class _Piece:
    """What a piece of a file holds, lines counted from its own first.

    duplicates  as Blocks.sort() returns them
    """

    stream: Stream
    lines: int
    duplicates: list[Duplicate]

    def join(self, next: _Piece) -> None:
        """Takes in the piece that follows."""
        stream, other, lines = self.stream, next.stream, self.lines
        stream.begin = stream.begin or other.begin
        stream.end = other.end or stream.end
        stream.ios += [(number + lines, row) for number, row in other.ios]
        stream.cgroups |= other.cgroups
        stream.io_max |= other.io_max
        for rows_of in _LISTS.values():
            rows_of(stream).extend(rows_of(other))
        stream.writes += [(number + lines, row) for number, row in other.writes]
        stream.problems += [
            Problem(row.file, row.line + lines, row.text) for row in other.problems
        ]
        found = [(t_ns, a + lines, b + lines) for t_ns, a, b in next.duplicates]
        found += stream.blocks.join(other.blocks, lines)
        found += stream.waits.join(other.waits, lines)
        self.duplicates = sorted(self.duplicates + found)
        self.lines += next.lines

    def in_order(self) -> Stream:
        """The whole stream, sorted by time, duplicates dropped and reported."""
        stream = self.stream
        self.duplicates += _sort(stream.writes)
        stream.ios.sort(key=lambda row: row[1].end_ns)
        stream.problems += [
            Problem(
                stream.file, number, f"same task and start as line {kept}, left out"
            )
            for _, number, kept in self.duplicates
        ]
        return stream


def _read_rows(name: str, lines: Iterable[bytes]) -> _Piece:
    decoder = Decoder()
    stream = Stream(name, blocks=decoder.blocks, waits=decoder.waits)

    def on_line(number: int, line: bytes) -> None:
        event = decoder.decode(line, number)
        if event is not None:
            _take(stream, number, event)

    stream.problems, count = read(name, lines, on_line, is_to_come)
    duplicates = stream.blocks.sort() + stream.waits.sort()
    return _Piece(stream, count, sorted(duplicates))


# Where the events are kept that need no number of a line.
_LISTS: dict[type, Callable[[Stream], list[Any]]] = {
    Ios: attrgetter("series"),
    Calls: attrgetter("calls"),
    File: attrgetter("files"),
    Handles: attrgetter("handles"),
    Commit: attrgetter("commits"),
    Lost: attrgetter("lost"),
}


def _take(stream: Stream, number: int, event: Event) -> None:
    """Keep the event of a line."""
    match event:
        case Write():
            stream.writes.append((number, event))
        case Io():
            stream.ios.append((number, event))
        case Cgroup():
            stream.cgroups[event.version, event.id] = event.path
            if event.io_max:
                stream.io_max[event.path] = event.io_max
        case Begin():
            stream.begin = stream.begin or event
        case End():
            stream.end = event
        case _:
            _LISTS[type(event)](stream).append(event)


def _sort(rows: list[tuple[int, Write]]) -> list[Duplicate]:
    """Orders rows by time; drops, and returns, duplicates.

    As Blocks.sort() does: start in ns, line number, and that of the one kept.
    """
    rows.sort(key=lambda row: (row[1].t_ns, row[1].tid, row[0]))
    kept: list[tuple[int, Write]] = []
    duplicates = []
    for number, event in rows:
        if kept and (event.t_ns, event.tid) == (kept[-1][1].t_ns, kept[-1][1].tid):
            duplicates.append((event.t_ns, number, kept[-1][0]))
        else:
            kept.append((number, event))
    rows[:] = kept
    return duplicates
