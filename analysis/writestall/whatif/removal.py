# SPDX-License-Identifier: GPL-2.0-only
"""removal: turns an answer into the one that waits of one class had cost nothing in.

A stalled write is shorter by every wait of that class on its way, a holder's as well:
what follows such a wait begins that much sooner, and nothing else takes its place.
That is an optimist's estimate: docs/export.md says what it assumes.
The writes that a stall kept from starting are sent through the writer's queue again:
one thread, one intended start each interval, one call after the other. Writes that
neither wait nor are slow take what the client measured in seconds without a stall.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from writestall.chain.answers import Answer
from writestall.chain.parts import Chain, Part
from writestall.classify import classes as c
from writestall.common.buckets import EDGES_NS, S, bucket_of
from writestall.common.errors import WritestallError
from writestall.common.units import shares
from writestall.events.contract import ClientWrite
from writestall.events.hlog import read_log, read_total
from writestall.events.rows import read_client

CLASSES = (*c.WAIT_CLASSES, c.RUNQUEUE)
QUANTILES = (50.0, 99.0, 99.9, 100.0)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Latencies of all writes at QUANTILES, in ns.

    `model_ns` is what the model makes of the run as it was: as far as it differs from
    what was measured, the model is off. `then_writes` counts writes by their number in
    buckets.EDGES_NS.
    """

    measured_ns: tuple[int, ...]
    model_ns: tuple[int, ...]
    then_ns: tuple[int, ...]
    then_writes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The stalled writes with and without one class; pairs are (as it was, then)."""

    cls: str
    durations_ns: tuple[tuple[int, int], ...]
    stall_ns: int
    percentiles: Percentiles | None

    @property
    def stalls(self) -> tuple[int, int]:
        """How many writes stall: those as long as the tracer's limit."""
        still = sum(then >= self.stall_ns for _, then in self.durations_ns)
        return len(self.durations_ns), still

    @property
    def sums_ns(self) -> tuple[int, int]:
        """The durations of the writes that had stalled."""
        before, then = zip(*self.durations_ns, strict=True)
        return sum(before), sum(then)

    @property
    def longest_ns(self) -> tuple[int, int]:
        """The longest of them."""
        before, then = zip(*self.durations_ns, strict=True)
        return max(before), max(then)


def without(parts: Sequence[Part], cls: str) -> int:
    """What is left of parts, in ns, when waits of a class take no time."""
    left_ns = 0
    for part in parts:
        if part.cls == cls:
            continue
        left_ns += without(part.parts, cls) if part.parts else part.dur_ns
    return left_ns


def what_if(answer: Answer, cls: str) -> WhatIf:
    """The run without waits of a class; raises where nothing stalled."""
    if not answer.writes:
        raise WritestallError(f"{answer.run.path}: no write stalled, nothing to undo")
    begin = answer.stream.begin
    pairs = tuple(
        (chain.write.dur_ns, without(chain.parts, cls)) for chain in answer.chains
    )
    limit_ns = begin.stall_ns if begin else 0
    return WhatIf(cls, pairs, limit_ns, _percentiles(answer, cls))


def _percentiles(answer: Answer, cls: str) -> Percentiles | None:
    """None where the client left no schedule to send through the queue again."""
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
    """The client's own: `writes` of each thread, one each `interval_ns`.

    `slow` are the calls it wrote down, for each thread by their number: how long they
    took, and would have taken. `typical_ns` stands for all others.
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
    records = read_client(path)
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
    return _Schedule(writes, threads, interval_ns, _typical_ns(answer), slow)


def _saved_ns(chains: list[Chain], row: ClientWrite, cls: str) -> int:
    """What the class cost the stalled call that lies within one the client saw."""
    return sum(
        chain.write.dur_ns - without(chain.parts, cls)
        for chain in chains
        if row.t_ns <= chain.write.t_ns < row.t_ns + row.dur_ns
    )


def _typical_ns(answer: Answer) -> int:
    """How long a call takes that waits for nothing: the median of the calls alone."""
    calls, _ = read_total(answer.run.path / "writer-service.hlog")
    if not calls.get_total_count():
        return 0
    return int(calls.get_value_at_percentile(50))


def _queues(schedule: _Schedule, which: int) -> list[tuple[int, int]]:
    """Intended start (from the schedule's own) and latency of the writes that waited
    or were slow, as it was (0) or then (1).
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
    """What writes took in the seconds in which none waited: ns to how many."""
    busy = {intended_ns // S for intended_ns, _ in waited}
    counts: dict[int, int] = {}
    for interval in read_log(answer.run.path / "writer.hlog").intervals:
        if interval.start_ns // S not in busy:
            for ns, count in interval.counts.items():
                counts[ns] = counts.get(ns, 0) + count
    return counts or {schedule.typical_ns: 1}


def _weights(
    schedule: _Schedule, waited: list[tuple[int, int]], quiet: dict[int, int]
) -> list[tuple[int, float]]:
    """Latencies in ns, least first, and of how many writes: those that waited and, for
    all others, quiet ones in proportion.
    """
    total = schedule.writes * schedule.threads
    share = (total - len(waited)) / sum(quiet.values())
    weights = [(ns, 1.0) for _, ns in waited]
    weights += [(ns, count * share) for ns, count in quiet.items()]
    return sorted(weights)


def _quantiles(weights: list[tuple[int, float]]) -> tuple[int, ...]:
    """Latencies at QUANTILES, as HdrHistogram has it: the least with so many below."""
    sums = list(accumulate(weight for _, weight in weights))
    places = [bisect_left(sums, sums[-1] * at / 100 - 1e-6) for at in QUANTILES]
    return tuple(weights[place][0] for place in places)


def _buckets(weights: list[tuple[int, float]]) -> tuple[int, ...]:
    """Whole writes by bucket, as many as there are."""
    sums = [0.0] * len(EDGES_NS)
    for ns, weight in weights:
        sums[bucket_of(ns)] += weight
    millis = [round(1000 * count) for count in sums]
    return tuple(shares(sum(millis), millis, round(sum(sums))))
