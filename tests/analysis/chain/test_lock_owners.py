# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain waits for locks that name their holder, and compare both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from build import Events
from chains import IRQ, MS, ns_by_path, one_chain
from writestall.chain.merge import unqueued
from writestall.chain.parts import INFERRED, SEEN, Chain, Part
from writestall.verdict.witness import HOWS, by_class, compared

A, B, C, D = 301, 302, 303, 304
COMM = "latwriter"


def lock(owner: int, at: str = "0x10", holder: str = "owner") -> dict[str, Any]:
    """An rw-semaphore that named this task when the sleep began."""
    return {
        "lock": "rwsem_write",
        "lock_at": at,
        "holder": holder,
        "holder_tid": owner,
        "holder_comm": COMM,
    }


def waits(
    ev: Events, tid: int, at_ms: float, until_ms: float, waker: int, **fields: Any
) -> None:
    """A task that waits for an inode's lock until another lets it go."""
    dur_ms = until_ms - at_ms
    ev.block(tid, at_ms, dur_ms, "inode_lock", (waker, COMM), "rwsem_up", **fields)


def stalled(tmp_path: Path, ev: Events, tid: int, dur_ms: float) -> Chain:
    ev.write(tid, 0, dur_ms, dur_ms, stack="inode_lock")
    return one_chain(tmp_path, ev.end())


def since_ms(part: Part) -> float:
    """When the holder of the wait had the lock, in ms after the wait began."""
    assert part.since_ns is not None and part.start_ns is not None
    return (part.since_ns - part.start_ns) / MS


def disk(ev: Events, tid: int, at_ms: float, dur_ms: float) -> None:
    """A task that waits for its own I/O."""
    ev.block(tid, at_ms, dur_ms, "jbd2_submit", IRQ, ctx="softirq", comm=COMM)


def test_the_task_that_the_lock_names_is_seen(tmp_path: Path) -> None:
    ev = Events()
    disk(ev, A, 0, 199.5)
    waits(ev, B, 0, 200, A, **lock(A))
    chain = stalled(tmp_path, ev, B, 200)
    (part,) = chain.parts
    assert part.link == SEEN
    assert part.since_ns == part.start_ns
    assert part.named and part.holder and part.named.tid == part.holder.tid == A
    assert by_class(compared(chain)) == {
        "inode_lock": dict.fromkeys(HOWS, 0) | {"same": 200 * MS}
    }


def test_an_owner_that_had_to_wait_again_had_it_since_then(tmp_path: Path) -> None:
    """A let B have the lock for 40 ms, got it back and kept it."""
    ev = Events()
    disk(ev, A, 0, 59.5)
    waits(ev, A, 60, 100, B, **lock(B))
    disk(ev, A, 100, 99.5)
    waits(ev, B, -20, 60, A, **lock(A))
    waits(ev, D, 0, 200, A, **lock(A))
    chain = stalled(tmp_path, ev, D, 200)
    (part,) = chain.parts
    assert part.link == SEEN
    assert since_ms(part) == 100


def test_a_lock_is_passed_on_through_those_that_waited(tmp_path: Path) -> None:
    """A had it, then B and C, who had waited; C wakes D."""
    ev = Events()
    disk(ev, A, 0, 99.5)
    waits(ev, B, -20, 100, A, **lock(A))
    disk(ev, B, 100, 99.5)
    waits(ev, C, 50, 200, B, **lock(A))
    disk(ev, C, 200, 99.5)
    waits(ev, D, 0, 300, C, **lock(A))
    chain = stalled(tmp_path, ev, D, 300)
    (part,) = chain.parts
    assert part.holder is not None and part.holder.tid == C
    assert part.link == SEEN
    assert since_ms(part) == 200
    head = unqueued(part)
    assert head.holder is not None and head.holder.tid == A
    assert (head.queue, since_ms(head)) == (2, -20)
    assert compared(chain)["inode_lock", "passed_on"] >= 300 * MS
    assert not compared(chain)["inode_lock", "other"]


@pytest.mark.parametrize(
    ("between", "why"),
    [
        (dict(until_ms=100, **lock(A, at="0x20")), "another lock"),
        (dict(until_ms=300, **lock(A)), "woken after the end"),
        (dict(until_ms=100, waker=C, **lock(C)), "the lock was never the owner's"),
    ],
    ids=("another-lock", "later", "another-owner"),
)
def test_a_lock_that_came_another_way_is_inferred(
    tmp_path: Path, between: dict[str, Any], why: str
) -> None:
    ev = Events()
    waits(ev, B, 10, **{"waker": A} | between)
    disk(ev, B, 100.5, 99)
    waits(ev, D, 0, 200, B, **lock(A))
    chain = stalled(tmp_path, ev, D, 200)
    assert chain.parts[0].link == INFERRED, why
    assert chain.parts[0].since_ns is None, why
    assert compared(chain)["inode_lock", "other"] >= 200 * MS, why


def test_the_owner_is_asked_where_the_waker_explains_nothing(tmp_path: Path) -> None:
    """Who took the lock last did not sleep; its owner before did, on the disk."""
    ev = Events()
    disk(ev, A, 0, 199.5)
    waits(ev, D, 0, 200, B, **lock(A))
    chain = stalled(tmp_path, ev, D, 200)
    (part,) = chain.parts
    assert part.holder is not None and part.holder.tid == A
    assert part.link == SEEN and "named it" in part.why
    assert ns_by_path(chain)["inode_lock", "device_io"] == 199.5 * MS


@pytest.mark.parametrize("holder", ["reader", "last_holder"])
def test_a_hint_names_nobody(tmp_path: Path, holder: str) -> None:
    """A reader that the lock names may have released it: the waker's stack decides."""
    ev = Events()
    disk(ev, B, 0, 199.5)
    waits(ev, D, 0, 200, B, **lock(A, holder=holder))
    chain = stalled(tmp_path, ev, D, 200)
    assert chain.parts[0].named is None and chain.parts[0].link == SEEN
    assert chain.parts[0].since_ns is None
    assert compared(chain) == {("inode_lock", "released"): 200 * MS}


def test_two_that_wake_each_other_end(tmp_path: Path) -> None:
    ev = Events()
    waits(ev, B, 0, 100, D, **lock(A))
    waits(ev, D, 0, 100, B, **lock(A))
    chain = stalled(tmp_path, ev, D, 100)
    assert chain.parts[0].link == INFERRED
