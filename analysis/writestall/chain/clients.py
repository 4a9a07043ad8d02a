# SPDX-License-Identifier: GPL-2.0-only
"""clients: join an application's record to the chains of the writes that stopped it.

A pause's write is the one its own thread made while all others stood still; a lock's
holder is the request that wrote under that lock meanwhile; and one that found no free
thread stood behind the request that wrote for most of that time. Each is joined to the
traced write, and so to its chain, by thread and time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from writestall.chain.answers import Answer, once
from writestall.chain.parts import Chain
from writestall.chain.roots import Root
from writestall.common.windows import Window, common_ns, most_common, window_of
from writestall.events.application import SAFEPOINT, Application
from writestall.events.contract import ClientWrite, Pause, Request
from writestall.events.hlog import Latencies

QUEUE, LOCK, WRITE = "queue", "lock", "write"


@dataclass(frozen=True, slots=True)
class Stop:
    """A pause, the write made in it, and that write's chain where it was traced."""

    pause: Pause
    write: ClientWrite | None
    chain: Chain | None

    @property
    def covered_ns(self) -> int:
        """How much of the pause its write took."""
        if self.write is None:
            return 0
        return common_ns(window_of(self.pause), window_of(self.write))


@dataclass(frozen=True, slots=True)
class Delay:
    """A slow request, what it waited for, and the chain of the write behind it all.

    ahead   where queueing took most, whose write kept its thread for most of that
    holder  the one that held its partition's lock
    chain   of the write behind what took most of it: that of one of these, its own
    """

    request: Request
    ahead: Request | None
    holder: Request | None
    chain: Chain | None

    @property
    def longest(self) -> str:
        """What took most of it."""
        return longest_part(self.request)


def _chain_of(answer: Answer, tid: int, window: Window) -> Chain | None:
    own = (row for row in answer.every_write if row[1].tid == tid)
    row = most_common(own, window, lambda row: window_of(row[1]))
    return answer.chains.of([row])[0] if row else None


@once
def stops(answer: Answer) -> list[Stop]:
    """The recorded pauses, longest first."""
    app = _application(answer)
    rows = sorted(app.pauses, key=lambda pause: -pause.dur_ns)
    return [_stop(answer, app, pause) for pause in rows]


def longest_logging_ns(answer: Answer) -> int:
    """The longest that one of the recorded pauses spent on its line; 0 without any."""
    return max((pause.log_ns for pause in _application(answer).pauses), default=0)


def _stop(answer: Answer, app: Application, pause: Pause) -> Stop:
    window = window_of(pause)
    own = (write for write in app.writes if write.tid == pause.tid)
    chain = _chain_of(answer, pause.tid, window)
    return Stop(pause, most_common(own, window, window_of), chain)


def longest_part(request: Request) -> str:
    """What took most of a request: queue, lock or write."""
    parts = {
        QUEUE: request.queue_ns,
        LOCK: request.lock_ns,
        WRITE: request.write_ns,
    }
    return max(parts, key=lambda name: parts[name])


def _held(request: Request) -> Window:
    """While it held its partition's lock."""
    locked_ns = request.t_ns + request.queue_ns + request.lock_ns
    return locked_ns, locked_ns + request.write_ns


def _queued(request: Request) -> Window:
    """While no thread had taken it."""
    return request.t_ns, request.t_ns + request.queue_ns


def _waited(request: Request) -> Window:
    """While it waited for that lock."""
    begin_ns = request.t_ns + request.queue_ns
    return begin_ns, begin_ns + request.lock_ns


@once
def worst_delays(answer: Answer) -> list[Delay]:
    """Of the requests whose time went mostly to one part, the slowest: one per part."""
    worst: dict[str, Request] = {}
    for request in _application(answer).requests:
        name = longest_part(request)
        if name not in worst or request.dur_ns > worst[name].dur_ns:
            worst[name] = request
    rows = sorted(worst.values(), key=lambda row: -row.dur_ns)
    return [delay(answer, row) for row in rows]


def delay(answer: Answer, request: Request) -> Delay:
    """A request with those it waited for and the chain of the write behind it."""
    others = [row for row in _application(answer).requests if row is not request]
    same = (row for row in others if row.partition == request.partition)
    holder = most_common(same, _waited(request), _held)
    longest, ahead = longest_part(request), None
    if longest == QUEUE:
        ahead = most_common(others, _queued(request), _held)
    slow = {QUEUE: ahead, LOCK: holder}.get(longest) or request
    return Delay(request, ahead, holder, _chain_of(answer, slow.tid, _held(slow)))


def counts(answer: Answer) -> dict[str, int]:
    """Slow requests by what took most of each, most first."""
    requests = _application(answer).requests
    return dict(Counter(longest_part(row) for row in requests).most_common())


def main_root(answer: Answer) -> tuple[Root, int, int] | None:
    """What most of its own writes' stall time comes down to, of how much, in ns."""
    tids = _application(answer).tids
    writes = [row for row in answer.every_write if row[1].tid in tids]
    total_ns = sum(write.dur_ns for _, write in writes)
    for root, ns in answer.roots(answer.chains.of(writes)).items():
        return root, ns, total_ns
    return None


def of_run(answer: Answer) -> dict[str, Any]:
    """`application` of summary(), or the same fields of a client without a record.

    Its root is that of all stalled calls.
    """
    if seen := summary(answer):
        return dict(seen["application"])
    root, ns = next(iter(answer.all_roots.items()), (None, 0))
    return {
        "program": None,
        "latency": _ns(answer.latencies),
        "root": None if root is None else str(root),
        "root_share": round(ns / answer.stall_ns, 6) if ns else None,
    }


def _application(answer: Answer) -> Application:
    assert answer.application is not None
    return answer.application


def _ns(latencies: Latencies | None) -> dict[str, int] | None:
    if latencies is None:
        return None
    return {
        "count": latencies.writes,
        "p50_ns": latencies.p50_ns,
        "p99_ns": latencies.p99_ns,
        "p999_ns": latencies.p999_ns,
        "max_ns": latencies.max_ns,
    }


def summary(answer: Answer) -> dict[str, Any]:
    """`application` of summary.json (docs/run-directory.md), or nothing."""
    app = answer.application
    if app is None:
        return {}
    root = main_root(answer)
    found: dict[str, Any] = {
        "program": app.program,
        "latency": _ns(answer.latencies),
        "write": _ns(app.service),
        "root": str(root[0]) if root else None,
        "root_share": round(root[1] / root[2], 6) if root and root[2] else None,
    }
    if app.program == SAFEPOINT:
        found |= _pauses(answer, app)
    else:
        found["slow_requests"] = counts(answer)
        found["worst"] = [_delay_json(row) for row in worst_delays(answer)]
    return {"application": found}


def _pauses(answer: Answer, app: Application) -> dict[str, Any]:
    longest = next(iter(stops(answer)), None)
    return {
        "pause": _ns(app.pauses_all),
        "longest_logging_ns": longest_logging_ns(answer),
        "longest_pause": None
        if longest is None
        else {
            "t_ns": longest.pause.t_ns,
            "dur_ns": longest.pause.dur_ns,
            "reach_ns": longest.pause.reach_ns,
            "log_ns": longest.pause.log_ns,
            "threads": longest.pause.threads,
            "shortest_ns": longest.pause.shortest_ns,
            "write_ns": longest.write.dur_ns if longest.write else None,
            "covered_ns": longest.covered_ns,
            "event": longest.chain.id if longest.chain else None,
        },
    }


def _delay_json(row: Delay) -> dict[str, Any]:
    request, ahead, holder = row.request, row.ahead, row.holder
    return {
        "seq": request.seq,
        "partition": request.partition,
        "dur_ns": request.dur_ns,
        "queue_ns": request.queue_ns,
        "lock_ns": request.lock_ns,
        "write_ns": request.write_ns,
        "ahead_seq": ahead.seq if ahead else None,
        "ahead_tid": ahead.tid if ahead else None,
        "ahead_write_ns": ahead.write_ns if ahead else None,
        "holder_seq": holder.seq if holder else None,
        "holder_tid": holder.tid if holder else None,
        "holder_write_ns": holder.write_ns if holder else None,
        "event": row.chain.id if row.chain else None,
    }
