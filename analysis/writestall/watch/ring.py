# SPDX-License-Identifier: GPL-2.0-only
"""ring: hold the last events of a stream, as lines, in bounded memory.

Lines come about in the order in which what they tell has ended. They are held in
segments of a second each; all but the newest are compressed, to a tenth of their size.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

S = 1_000_000_000
# A segment is closed when it is that long, or has that many lines.
SEGMENT_NS, SEGMENT_LINES = S, 2000
# So many of the newest stay as they are: what is explained lies there.
PLAIN_SEGMENTS = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long events stay, how many at most, and how many bytes they may take."""

    age_ns: int = 60 * S
    events: int = 100_000
    bytes: int = 32 << 20


@dataclass(slots=True)
class Segment:
    """Lines in a row; `newest_ns` is the last end of what they tell."""

    newest_ns: int
    lines: list[bytes] = field(default_factory=list)
    packed: bytes | None = None
    count: int = 0
    size: int = 0

    def pack(self) -> None:
        """Compress the lines: no more are added."""
        self.packed = zlib.compress(b"".join(self.lines), 1)
        self.lines, self.size = [], len(self.packed)

    def unpacked(self) -> list[bytes]:
        """The lines, in order."""
        if self.packed is None:
            return self.lines
        return zlib.decompress(self.packed).splitlines(keepends=True)


class Ring:
    """The lines; those that leave before their time are counted in `evicted`."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._segments: deque[Segment] = deque()
        self.events = 0
        self.bytes = 0
        self.evicted = 0
        # The end of the newest event that is held no more.
        self.gone_ns = 0

    def add(self, line: bytes, end_ns: int) -> None:
        """Take a line in: what it tells has ended at that time."""
        last = self._segments[-1] if self._segments else None
        if last is None or self._full(last, end_ns):
            last = Segment(end_ns)
            self._segments.append(last)
            self._pack()
        last.lines.append(line)
        last.newest_ns = max(last.newest_ns, end_ns)
        last.count += 1
        last.size += len(line)
        self.events += 1
        self.bytes += len(line)

    def trim(self, now_ns: int, keep_ns: int) -> None:
        """Drop expired events, except those since `keep_ns`; then the oldest above the
        size limit.
        """
        bounds = self._bounds
        oldest_ns = min(now_ns - bounds.age_ns, keep_ns)
        while self._segments and self._segments[0].newest_ns < oldest_ns:
            self._drop()
        while self._segments and (
            self.events > bounds.events or self.bytes > bounds.bytes
        ):
            self.evicted += self._drop()

    def since(self, t_ns: int) -> Iterator[bytes]:
        """The lines of all that ended at that time or later, and maybe some more."""
        for segment in self._segments:
            if segment.newest_ns >= t_ns:
                yield from segment.unpacked()

    def snapshot(self) -> list[Segment]:
        """All that is held now, to be read by another thread; the lines are shared."""
        return [replace(one, lines=one.lines.copy()) for one in self._segments]

    def _full(self, segment: Segment, end_ns: int) -> bool:
        begun = segment.newest_ns // SEGMENT_NS
        return segment.count >= SEGMENT_LINES or end_ns // SEGMENT_NS > begun

    def _pack(self) -> None:
        """Compress the segment that is no longer among the newest."""
        if len(self._segments) > PLAIN_SEGMENTS:
            segment = self._segments[-1 - PLAIN_SEGMENTS]
            before = segment.size
            segment.pack()
            self.bytes += segment.size - before

    def _drop(self) -> int:
        segment = self._segments.popleft()
        self.events -= segment.count
        self.bytes -= segment.size
        self.gone_ns = max(self.gone_ns, segment.newest_ns)
        return segment.count
