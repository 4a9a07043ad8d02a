# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain random events, which no kernel would print."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chains import assert_adds_up
from drawn_events import blocks, stream_of, writes
from made_stacks import STACKS
from writestall.chain.explainer import Explainer
from writestall.chain.merge import merged, unqueued
from writestall.events.contract import Block, Write
from writestall_base.units import shares


@settings(max_examples=300)
@given(
    st.lists(blocks, max_size=30),
    st.lists(writes, min_size=1, max_size=3),
    st.sampled_from([1, 1000, 1_000_000]),
    st.integers(0, 2),
)
def test_parts_add_up_whatever_the_events(
    found: list[Block], calls: list[Write], floor_ns: int, lost: int
) -> None:
    """Overlapping, circular, ownerless: every level sums to the one above."""
    explainer = Explainer(stream_of(found, calls, floor_ns, lost))
    for id, write in enumerate(calls, 1000):
        chain = explainer.chain(id, write)
        assert_adds_up(chain)
        assert 0 <= chain.explained_ns <= write.dur_ns
        assert all(leaf.dur_ns >= 0 for leaf in chain.leaves())
        shown = merged(chain.parts)
        assert sum(part.dur_ns for part in shown) == write.dur_ns
        assert sum(part.explained_ns for part in shown) == chain.explained_ns
        short = [unqueued(part) for part in chain.parts]
        assert sum(part.explained_ns for part in short) == chain.explained_ns
        for part in short:
            assert not part.parts or sum(p.dur_ns for p in part.parts) == part.dur_ns


@given(st.lists(st.integers(0, 10**12), max_size=20), st.integers(0, 10**6))
def test_shown_numbers_add_up(amounts: list[int], want: int) -> None:
    """Rounded numbers sum to the rounded whole, each within one of its true value."""
    total = sum(amounts)
    dealt = shares(total, amounts, want)
    assert sum(dealt) == (want if total else 0)
    for amount, units in zip(amounts, dealt, strict=True):
        if total:
            assert abs(units - amount * want / total) < 1.000001


def test_times_beyond_64_bits() -> None:
    """The sum of two of the longest times exceeds 64 bits."""
    most_ns = 2**62
    long = Block(most_ns, most_ns, 1, most_ns, kstack=tuple(STACKS["journal_buffer"]))
    write = Write(0, most_ns, 1, sleeps=1)
    chain = Explainer(stream_of([long], [write], 1, 0)).chain(1000, write)
    assert_adds_up(chain)
    assert chain.write.dur_ns == most_ns


def test_a_large_cycle_ends_soon() -> None:
    """Fifty tasks that all wake each other in turn do not multiply."""
    found = [
        Block(
            t_ns=at * 1_000_000,
            dur_ns=900_000_000,
            tid=tid,
            kstack=tuple(STACKS["inode_lock"]),
            waker_tid=(tid * 7 + at) % 50 + 1,
            waker_ctx="task",
            waker_kstack=tuple(STACKS["rwsem_up"]),
        )
        for tid in range(1, 51)
        for at in range(0, 4000, 1000)
    ]
    write = Write(t_ns=0, dur_ns=4_000_000_000, tid=1, slept_ns=3_600_000_000, sleeps=4)
    chain = Explainer(stream_of(found, [write], 1, 0)).chain(1, write)
    assert_adds_up(chain)
