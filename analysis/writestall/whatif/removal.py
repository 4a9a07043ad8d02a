# SPDX-License-Identifier: GPL-2.0-only
"""removal: compute a run's latencies without the waits of one class.

A stalled write is shorter by every wait of that class in its chain, waits of holders
included: what follows such a wait begins that much sooner, and no other wait replaces
it. This is an optimistic estimate; docs/export.md says what it assumes. Writes that a
stall kept from starting are simulated again: per thread one intended start each
interval, one call after the other. Writes that neither wait nor are slow take as long
as the client measured in seconds without a stall.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from writestall.chain.answers import Answer
from writestall.chain.parts import Chain, Part
from writestall.common.scales import EDGES_NS, S, bucket_of
from writestall.events.contract import ClientWrite
from writestall.events.hlog import read_log
from writestall.events.rows import read_records
from writestall_base import wait_classes as c
from writestall_base.errors import UserError
from writestall_base.units import shares

CLASSES = (*c.WAIT_CLASSES, c.RUNQUEUE)
QUANTILES = (50.0, 99.0, 99.9, 100.0)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Latencies of all writes at QUANTILES, in ns.

    `model_ns` is the model's result for the run as it was: its difference from
    `measured_ns` is the model's error. `then_writes` are counts by bucket of
    scales.EDGES_NS.
    """

    measured_ns: tuple[int, ...]
    model_ns: tuple[int, ...]
    then_ns: tuple[int, ...]
    then_writes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The stalled writes with and without one class; pairs are (measured, without)."""

    cls: str
    durations_ns: tuple[tuple[int, int], ...]
    stall_ns: int
    percentiles: Percentiles | None

    @property
    def stalls(self) -> tuple[int, int]:
        """The number of writes as long as the tracer's limit."""
        still = sum(then >= self.stall_ns for _, then in self.durations_ns)
        return len(self.durations_ns), still

    @property
    def sums_ns(self) -> tuple[int, int]:
        """The sum of the stalled writes' durations."""
        before, then = zip(*self.durations_ns, strict=True)
        return sum(before), sum(then)

    @property
    def longest_ns(self) -> tuple[int, int]:
        """The longest stalled write."""
        before, then = zip(*self.durations_ns, strict=True)
        return max(before), max(then)


def without(parts: Sequence[Part], cls: str) -> int:
    """The duration of parts, in ns, if waits of a class take no time."""
    left_ns = 0
    for part in parts:
        if part.cls == cls:
            continue
        left_ns += without(part.parts, cls) if part.parts else part.dur_ns
    return left_ns


def what_if(answer: Answer, cls: str) -> WhatIf:
    """Compute the run without waits of a class; raise if nothing stalled."""
    if not answer.writes:
        raise UserError(f"{answer.run.path}: no write stalled, nothing to remove")
    pairs = tuple(
        (chain.write.dur_ns, without(chain.parts, cls)) for chain in answer.chains
    )
    return WhatIf(cls, pairs, answer.stream.limit_ns, _percentiles(answer, cls))


def _percentiles(answer: Answer, cls: str) -> Percentiles | None:
    """Percentiles of all writes; None if there is no schedule to simulate."""
    schedule = _schedule(answer, cls)
    if schedule is None or answer.latencies is None:
        return None
    known = answer.latencies
    measured = (known.p50_ns, known.p99_ns, known.p999_ns, known.max_ns)
    queues = [_queues(schedule, which) for which in (0, 1)]
    quiet = _quiet(answer, schedule, queues[0])
    model, then = (_weights(schedule, queue, quiet) for queue in queues)
    return Percentiles(measured, _quantiles(model), _quantiles(then), _buckets(then))


@dataclass(frozen=True, slots=True)
class _Schedule:
    """The client's schedule: `writes` per thread, one each `interval_ns`.

    `slow` are the recorded slow calls, by thread and number: their durations as
    measured and without the class. `typical_ns` is the duration of all others.
    """

    writes: int
    threads: int
    interval_ns: int
    typical_ns: int
    slow: dict[int, dict[int, tuple[int, int]]]


def _schedule(answer: Answer, cls: str) -> _Schedule | None:
    path = answer.run.path / "writer.jsonl"
    if not path.exists() or answer.latencies is None:
        return None
    records = read_records(path, ClientWrite)
    begin = records.begin or {}
    interval_ns, threads = begin.get("interval_ns"), begin.get("writers")
    if not (isinstance(interval_ns, int) and isinstance(threads, int) and threads > 0):
        return None
    chains: dict[int, list[Chain]] = {}
    for chain in answer.chains:
        chains.setdefault(chain.write.tid, []).append(chain)
    slow: dict[int, dict[int, tuple[int, int]]] = {}
    for row in records.rows:
        if row.seq is None:
            continue
        saved_ns = _saved_ns(chains.get(row.tid, []), row, cls)
        of_thread = slow.setdefault(row.tid, {})
        before, after = of_thread.get(row.seq, (0, 0))
        # A write and its fsync are one turn of the thread.
        left_ns = max(row.dur_ns - saved_ns, 0)
        of_thread[row.seq] = (before + row.dur_ns, after + left_ns)
    writes = answer.latencies.writes // threads
    # A call that does not wait takes the median of the calls.
    calls = read_log(answer.run.path / "writer-service.hlog").latencies
    return _Schedule(writes, threads, interval_ns, calls.p50_ns if calls else 0, slow)


def _saved_ns(chains: list[Chain], row: ClientWrite, cls: str) -> int:
    """The time of the class in the stalled call within a client's call."""
    return sum(
        chain.write.dur_ns - without(chain.parts, cls)
        for chain in chains
        if row.t_ns <= chain.write.t_ns < row.t_ns + row.dur_ns
    )


def _queues(schedule: _Schedule, which: int) -> list[tuple[int, int]]:
    """Intended start (in the schedule) and latency of the writes that waited or were
    slow, as measured (0) or without the class (1).
    """
    found = []
    for slow in schedule.slow.values():
        free_ns = 0
        for seq in range(schedule.writes):
            intended_ns = seq * schedule.interval_ns
            dur_ns = slow[seq][which] if seq in slow else schedule.typical_ns
            free_ns = max(intended_ns, free_ns) + dur_ns
            if free_ns - intended_ns > schedule.typical_ns:
                found.append((intended_ns, free_ns - intended_ns))
    return found


def _quiet(
    answer: Answer, schedule: _Schedule, waited: list[tuple[int, int]]
) -> dict[int, int]:
    """Latencies in seconds without a waiting write: counts by ns."""
    busy = {intended_ns // S for intended_ns, _ in waited}
    counts = Counter[int]()
    for interval in answer.log.intervals if answer.log else []:
        if interval.start_ns // S not in busy:
            counts.update(interval.counts)
    return counts or {schedule.typical_ns: 1}


def _weights(
    schedule: _Schedule, waited: list[tuple[int, int]], quiet: dict[int, int]
) -> list[tuple[int, float]]:
    """Latencies in ns, ascending, with weights: writes that waited, and for all others
    those of quiet seconds in proportion.
    """
    total = schedule.writes * schedule.threads
    share = (total - len(waited)) / sum(quiet.values())
    weights = [(ns, 1.0) for _, ns in waited]
    weights += [(ns, count * share) for ns, count in quiet.items()]
    return sorted(weights)


def _quantiles(weights: list[tuple[int, float]]) -> tuple[int, ...]:
    """Latencies at QUANTILES, as in HdrHistogram: the least with so many below."""
    sums = list(accumulate(weight for _, weight in weights))
    places = [bisect_left(sums, sums[-1] * at / 100 - 1e-6) for at in QUANTILES]
    return tuple(weights[place][0] for place in places)


def _buckets(weights: list[tuple[int, float]]) -> tuple[int, ...]:
    """Integer counts by bucket; they add up to the number of writes."""
    sums = [0.0] * len(EDGES_NS)
    for ns, weight in weights:
        sums[bucket_of(ns)] += weight
    millis = [round(1000 * count) for count in sums]
    return tuple(shares(sum(millis), millis, round(sum(sums))))
