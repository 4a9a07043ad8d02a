# SPDX-License-Identifier: GPL-2.0-only
"""test_window: what a sliding window explains is what a whole run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden_runs import HOMES
from streamed import Repeated, fed, lines_of
from writestall.chain.answers import answer
from writestall.chain.roots import Roots
from writestall.events.run_directory import open_run
from writestall.watch.explaining import MOST_PENDING, Explained, Explaining
from writestall.watch.losses import Losses
from writestall.watch.reporting import Reporter
from writestall.watch.ring import Bounds, Ring, S

PAGE_LOCK = HOMES["page-lock-7.2"]


@pytest.mark.parametrize("name", HOMES)
def test_every_chain_comes_down_to_the_roots_of_the_whole_run(name: str) -> None:
    run = open_run(HOMES[name])
    whole = answer(run, None, every=True)
    roots = Roots(run, whole.labels)
    expected = {
        (write.tid, write.t_ns): (chain.explained_ns, roots.of(chain))
        for (_, write), chain in zip(whole.writes, whole.chains, strict=True)
    }
    _, found = fed(run, lines_of(run))
    reporter = Reporter(run)
    reported = {
        (one.chain.write.tid, one.chain.write.t_ns): (
            one.chain.explained_ns,
            dict(sorted(reporter.reported(one).by_root.items(), key=str)),
        )
        for one in found
    }
    assert reported == {
        key: (ns, dict(sorted(by_root.items(), key=str)))
        for key, (ns, by_root) in expected.items()
    }


def test_a_chain_is_reported_within_five_seconds_of_its_end() -> None:
    run = open_run(PAGE_LOCK)
    explaining, ends, late_ns, now_ns = Explaining(run, Bounds()), 0, [0], 0
    lines = [*lines_of(run), *_quiet(run, 10)]
    for line in lines:
        now_ns = max(now_ns, explaining.take(line, now_ns))
        for one in explaining.due(now_ns):
            write = one.chain.write
            late_ns.append(now_ns - write.t_ns - write.dur_ns)
            ends += 1
    assert ends == explaining.counts.stalls == explaining.counts.reported
    assert max(late_ns) < 5 * S


def _quiet(run: object, seconds: int) -> list[bytes]:
    """Sleeps of a task that has nothing to do with the stalls, each half a second."""
    last = Repeated(PAGE_LOCK, S)
    start_ns = int(last.begin["t_ns"]) + 60 * S
    form = '{"ev":"block","t_ns":%d,"dur_ns":2000000,"tid":9,"kstack":[]}\n'
    return [(form % (start_ns + at * S // 2)).encode() for at in range(2 * seconds)]


def test_memory_is_bounded_and_what_is_let_go_is_counted() -> None:
    repeated = Repeated(PAGE_LOCK, S // 2)
    bounds = Bounds(events=200)
    explaining, found = fed(open_run(PAGE_LOCK), repeated.rounds(40), bounds)
    ring = explaining.ring
    assert ring.events <= 200
    assert ring.evicted > 0
    assert explaining.counts.reported == len(found) == repeated.stalls
    assert any(one.gap_ns for one in found)


def test_what_is_too_much_at_once_is_counted_and_not_reported() -> None:
    explaining = Explaining(open_run(PAGE_LOCK), Bounds())
    form = '{"ev":"write","t_ns":%d,"dur_ns":60000000,"tid":%d}\n'
    for tid in range(MOST_PENDING + 7):
        explaining.take((form % (S, tid)).encode(), S)
    found: list[Explained] = []
    while explaining.pending:
        found += explaining.due(9 * S, every=True)
    counts = explaining.counts
    assert (counts.reported, counts.unreported) == (MOST_PENDING, 7) == (len(found), 7)
    assert counts.stalls == counts.reported + counts.unreported


def test_lines_that_are_no_events_are_counted() -> None:
    explaining = Explaining(open_run(PAGE_LOCK), Bounds())
    long = b'{"ev":"block","t_ns":1,"comm":"' + b"x" * (1 << 19) + b'"}\n'
    for line in (b"{broken\n", b"[]\n", long, b'{"ev":"write","t_ns":"x"}\n'):
        assert explaining.take(line, 0) == 0
    assert (explaining.counts.unreadable, explaining.counts.events) == (4, 0)


def test_the_ring_gives_back_what_it_was_given() -> None:
    ring = Ring(Bounds(age_ns=20 * S))
    lines = [b'{"n":%d}\n' % number for number in range(3000)]
    for number, line in enumerate(lines):
        ring.add(line, number * S // 100)
        ring.trim(number * S // 100, number * S)
    held = list(ring.since(0))
    assert held == lines[-len(held) :]
    assert 2000 <= len(held) <= 2200
    assert list(ring.since(29 * S))[-1] == lines[-1]
    assert [line for part in ring.snapshot() for line in part.unpacked()] == held
    assert ring.bytes < sum(map(len, held))
    assert ring.evicted == 0


def test_events_since_the_oldest_open_call_stay() -> None:
    ring = Ring(Bounds(age_ns=S))
    for number in range(100):
        ring.add(b"{}\n", number * S)
        ring.trim(number * S, 10 * S)
    assert ring.events == 90
    assert ring.gone_ns == 9 * S


def test_the_shared_data_is_not_touched(tmp_path: Path) -> None:
    """A pipe, or a file without a manifest, is explained as well."""
    place = tmp_path / "events.jsonl"
    place.write_bytes(b"".join(lines_of(open_run(PAGE_LOCK))))
    run = open_run(place)
    _, found = fed(run, lines_of(run))
    assert len(found) == 3


def test_a_loss_is_reported_once_a_minute_with_what_follows() -> None:
    explaining = Explaining(open_run(PAGE_LOCK), Bounds())
    losses = Losses(explaining)
    form = '{"ev":"lost","t_ns":1,"count":%d,"what":"%s","why":"x"}\n'
    assert list(losses.lines(0)) == []
    explaining.take((form % (3, "events")).encode(), 0)
    explaining.take((form % (2, "stacks")).encode(), 0)
    assert list(losses.lines(S)) == [
        "LOST: 3 events, by the tracer; stalls may be missing",
        "LOST: 2 stacks, by the tracer; chains may have gaps",
    ]
    explaining.take((form % (4, "events")).encode(), 0)
    assert list(losses.lines(2 * S)) == []
    assert list(losses.lines(62 * S)) == [
        "LOST: 4 events, by the tracer; stalls may be missing"
    ]
    assert list(losses.lines(62 * S, at_once=True)) == []
    assert "9 lost, 0 dropped early" in losses.summary()
