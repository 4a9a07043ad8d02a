# SPDX-License-Identifier: GPL-2.0-only
"""engines: compare two engines' events of one run, and the client's record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from writestall.chain.answers import own_writes
from writestall.common.windows import most_common, window_of
from writestall.events.contract import ClientWrite, Write
from writestall.events.rows import read_records
from writestall.events.run_directory import RunDir
from writestall.events.stream import Stream, read_stream
from writestall_base.errors import UserError

LEAST_NS = 1_000_000
SHARE = 0.01
W = TypeVar("W", Write, ClientWrite)


def tolerance_ns(dur_ns: int) -> int:
    """The allowed difference of two measurements of a write: 1 ms or 1 %."""
    return max(LEAST_NS, int(SHARE * dur_ns))


@dataclass(slots=True)
class Comparison:
    """The result; `misses` is empty if all agree."""

    pairs: int = 0
    client_pairs: int = 0
    largest_ns: int = 0
    outside: int = 0
    misses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(run: RunDir, awake_ns: int = 0) -> Comparison:
    """Compare both engines of a run, and each with the client's record.

    `awake_ns` is the time that a client's write may be awake before and after its
    sleeps, which no tracer sees. It exceeds the tolerance only if CPUs are short.
    """
    names = run.engines()[:2]
    if len(names) < 2:
        raise UserError(
            f"{run.path / 'events'}: a second engine's events are missing; run the"
            " scenario with --engine both"
        )
    streams = {name: read_stream(run.events(name), run.bound) for name in names}
    result = Comparison()
    for name, stream in streams.items():
        notes: list[str] = []
        stream.writes = own_writes(run, stream, notes)
        result.notes += [f"{name}: {note}" for note in notes]
    window = _common_window(*streams.values())
    _pair_engines(streams, window, result)
    _pair_client(run, streams, awake_ns, result)
    if not result.pairs:
        result.misses.append("no stalled write was seen by both engines")
    return result


def _common_window(*streams: Stream) -> tuple[int, int]:
    """The time in which every engine was tracing."""
    starts = [s.begin.t_ns for s in streams if s.begin]
    ends = [s.end.t_ns for s in streams if s.end and s.end.t_ns]
    return max(starts, default=0), min(ends, default=2**62)


def match(write: Write, others: Iterable[W]) -> W | None:
    """The same task's call that overlaps most with this one."""
    own = (other for other in others if other.tid == write.tid)
    return most_common(own, window_of(write), window_of)


def _describe(write: Write | ClientWrite, by: str) -> str:
    ms = write.dur_ns / 1e6
    return f"{by}: {write.tid} at {write.t_ns / 1e9:.3f} s, {ms:.2f} ms"


def _pair_engines(
    streams: dict[str, Stream], window: tuple[int, int], result: Comparison
) -> None:
    """Match the writes of two streams one to one, by task and time."""
    names, (first, second) = list(streams), streams.values()
    rest = [write for _, write in second.writes]
    for _, write in first.writes:
        other = match(write, rest)
        if other is None:
            _alone(write, names[0], names[1], second, window, result)
            continue
        rest.remove(other)
        apart_ns = abs(write.dur_ns - other.dur_ns)
        result.pairs += 1
        result.largest_ns = max(result.largest_ns, apart_ns)
        if apart_ns > tolerance_ns(write.dur_ns):
            other_text = _describe(other, names[1])
            result.misses.append(
                f"{_describe(write, names[0])}; {other_text}: "
                f"{apart_ns / 1e6:.2f} ms apart"
            )
    for write in rest:
        _alone(write, names[1], names[0], first, window, result)


# Only one engine saw it: allowed outside the common time, and if it is so close to the
# other's limit that the two may differ.
def _alone(
    write: Write,
    by: str,
    not_by: str,
    other: Stream,
    window: tuple[int, int],
    result: Comparison,
) -> None:
    slept_ns = write.slept_ns or write.dur_ns
    inside = window[0] <= write.t_ns and write.t_ns + write.dur_ns <= window[1]
    if not inside or slept_ns - other.limit_ns <= tolerance_ns(slept_ns):
        result.outside += 1
        return
    result.misses.append(f"{_describe(write, by)}: not seen by {not_by}")


def _pair_client(
    run: RunDir, streams: dict[str, Stream], awake_ns: int, result: Comparison
) -> None:
    """Compare each engine's writes of the client's tasks with the client's record."""
    path = run.path / "writer.jsonl"
    if not path.exists():
        result.misses.append(
            "writer.jsonl is missing: there is no record of the client"
        )
        return
    records = read_records(path, ClientWrite)
    result.notes += [str(problem) for problem in records.problems[:3]]
    for name, stream in streams.items():
        _pair_one(name, stream, records.rows, awake_ns, result)
    if not result.client_pairs:
        result.misses.append("no stalled write was seen by the client")


# A tracer sees a call from its first sleep to its last (docs/events.md). The client's
# time may be longer by the time awake before and after, never shorter.
def _pair_one(
    name: str,
    stream: Stream,
    rows: list[ClientWrite],
    awake_ns: int,
    result: Comparison,
) -> None:
    tids = {row.tid for row in rows}
    seen = set()
    for _, write in stream.writes:
        if write.tid not in tids or not write.writes:
            continue
        row = match(write, rows)
        if row is None:
            result.misses.append(f"{_describe(write, name)}: not seen by the client")
            continue
        seen.add(row)
        result.client_pairs += 1
        longer_ns = row.dur_ns - write.dur_ns
        near_ns = tolerance_ns(write.dur_ns)
        if not -near_ns <= longer_ns <= near_ns + awake_ns:
            early_ns = write.t_ns - row.t_ns
            result.misses.append(
                f"{_describe(write, name)}; {_describe(row, 'client')}: "
                f"{longer_ns / 1e6:.2f} ms longer, {early_ns / 1e6:.2f} ms of it "
                "before the first sleep"
            )
    start_ns, end_ns = _common_window(stream)
    for row in rows:
        armed = start_ns <= row.t_ns and row.t_ns + row.dur_ns <= end_ns
        slept_ns = row.dur_ns - tolerance_ns(row.dur_ns) - awake_ns
        if armed and row not in seen and slept_ns > stream.limit_ns:
            result.misses.append(f"{_describe(row, 'client')}: not seen by {name}")


def lines(result: Comparison) -> Iterator[str]:
    yield (
        f"{'DIFFER' if result.misses else 'agree'}: {result.pairs} stalled writes seen "
        f"by both engines, at most {result.largest_ns / 1e6:.2f} ms apart; "
        f"{result.client_pairs} compared with the client's record"
    )
    if result.outside:
        yield f"  {result.outside} outside the common time or at the limit: left out"
    yield from (f"  {miss}" for miss in result.misses)
    yield from (f"  note: {note}" for note in result.notes)
