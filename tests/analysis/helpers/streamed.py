# SPDX-License-Identifier: GPL-2.0-only
"""streamed: feed recorded events to the watch's explainer, repeated as wanted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from writestall.common import compressed
from writestall.events.run_directory import RunDir, open_run
from writestall.events.stream import Stream
from writestall.watch.explaining import Explained, Explaining
from writestall.watch.ring import Bounds, S

TICK_NS = S // 2
TIDS = ("tid", "pid", "waker_tid", "holder_tid")


def fed(
    run: RunDir, lines: Iterable[bytes], bounds: Bounds | None = None
) -> tuple[Explaining, list[Explained]]:
    """What is explained of the lines, by their own clock."""
    explaining = Explaining(run, bounds or Bounds())
    found: list[Explained] = []
    now_ns = tick_ns = 0
    for line in lines:
        now_ns = max(now_ns, explaining.take(line, now_ns))
        if now_ns >= tick_ns:
            found += explaining.due(now_ns)
            explaining.trim(now_ns, now_ns)
            tick_ns = now_ns + TICK_NS
    while explaining.pending:
        found += explaining.due(now_ns, every=True)
    return explaining, found


def lines_of(run: RunDir) -> list[bytes]:
    """The lines of a run's first engine."""
    with compressed.opened(str(run.events(run.pick_engine(None))), run.bound) as one:
        return list(one[0])


def contents(stream: Stream) -> list[Any]:
    """The whole content of a stream."""
    blocks = stream.blocks
    of_task = {tid: [blocks.ids[at] for at in own] for tid, own in blocks.tasks.items()}
    shapes = [blocks.shape(id) for id in blocks.ids]
    events = [stream.begin, stream.end, stream.commits, stream.lost]
    return [[*blocks], of_task, shapes, stream.writes, events, stream.problems]


class Repeated:
    """The events of a run, again and again, in the order of their ends.

    Each round begins `every_ns` after the one before, with threads of its own, so that
    rounds may overlap. `stalls` counts the calls so far.
    """

    def __init__(self, place: Any, every_ns: int) -> None:
        lines = [json.loads(line) for line in lines_of(open_run(place))]
        self.begin = lines[0]
        self._events = [event for event in lines if event["ev"] not in ("begin", "end")]
        self._first_ns = min(event["t_ns"] for event in self._events)
        self._every_ns = every_ns
        self.stalls = 0

    def rounds(self, count: int) -> Iterator[bytes]:
        """The lines of so many rounds."""
        yield _line(self.begin)
        waiting: list[tuple[int, int, bytes]] = []
        for number in range(count):
            start_ns = self._first_ns + number * self._every_ns
            waiting.sort()
            while waiting and waiting[0][0] < start_ns:
                yield waiting.pop(0)[2]
            waiting += self._round(number, start_ns - self._first_ns)
        yield from (row[2] for row in sorted(waiting))

    def _round(self, number: int, later_ns: int) -> Iterator[tuple[int, int, bytes]]:
        own = 100_000 * (1 + number)
        for at, event in enumerate(self._events):
            moved = event | {"t_ns": event["t_ns"] + later_ns}
            moved |= {
                name: event[name] + own for name in TIDS if event.get(name) is not None
            }
            end_ns = moved["t_ns"] + (event.get("dur_ns") or 0)
            end_ns += event.get("runq_ns") or 0
            self.stalls += event["ev"] == "write"
            yield end_ns, at, _line(moved)


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"
