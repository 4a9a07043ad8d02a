# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain events whose cause is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
from build import Events
from chains import IRQ, JBD2, MS, assert_adds_up, explained, ns_by_path, one_chain
from writestall.chain.merge import unqueued
from writestall.chain.parts import INFERRED
from writestall_base import wait_classes as c


def test_the_original_cascade(tmp_path: Path) -> None:
    """Writer <- page lock <- flusher <- journal <- disk, in ms that add up."""
    result = explained(tmp_path, build.cascade())
    (chain,) = result.chains
    assert_adds_up(chain)
    found = ns_by_path(chain)
    assert found[("journal_buffer", "device_io")] == 599_600_000
    assert found[("page_lock", "journal_buffer", "device_io")] == 390_500_000
    assert found[("runqueue",)] == 2 * MS
    root, ns = next(iter(result.roots([chain]).items()))
    assert str(root) == "vdb slow for jbd2"
    assert ns == 599_600_000 + 390_500_000


def test_a_holder_that_began_before_the_write_is_clipped(tmp_path: Path) -> None:
    """jbd2 fell asleep 50 ms before the writer: only the overlap counts."""
    ev = Events()
    ev.block(253, -50, 600, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1])
    ev.block(300, 0, 550.5, "journal_buffer", JBD2, "jbd2_wakes")
    ev.write(300, 0, 550.5, 550.5)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {
        ("journal_buffer", "device_io"): 550 * MS,
        ("journal_buffer", "running"): MS // 2,
    }
    assert chain.explained_ns == chain.write.dur_ns


def test_throttling_is_its_own_root(tmp_path: Path) -> None:
    """A timer ends a pause of balance_dirty_pages; it has no holder."""
    ev = Events()
    ev.block(300, 0, 200, "dirty_throttle", IRQ, "timer", ctx="softirq")
    ev.write(300, 0, 200, 200)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {("dirty_throttle",): 200 * MS}
    assert chain.explained_ns == 200 * MS


def test_throttling_goes_on_through_a_flusher_that_the_disk_keeps(
    tmp_path: Path,
) -> None:
    """While the flusher sleeps on its bios, it is the reason; the rest is the pause
    itself.

    The same sleep of a task that writes nothing back does not count.
    """
    for comm, stack, want in (
        ("kworker/u8:3", "flusher_submit", 120),
        ("jbd2/vdb-8", "jbd2_submit", 0),
    ):
        ev = Events()
        ev.block(77, 50, 120, stack, IRQ, ctx="softirq", comm=comm)
        ev.block(300, 0, 200, "dirty_throttle", IRQ, "timer", ctx="softirq")
        ev.write(300, 0, 200, 200)
        chain = one_chain(tmp_path / stack, ev.end())
        found = ns_by_path(chain)
        assert found.get(("dirty_throttle", "device_io"), 0) == want * MS
        assert sum(found.values()) == chain.explained_ns == 200 * MS
        assert bool(chain.parts[0].holder) == bool(want)


def test_an_unknown_waker_is_unexplained(tmp_path: Path) -> None:
    """The class is known, but not who ended the wait: nothing is inferred."""
    ev = Events()
    ev.block(300, 0, 200, "page_lock", None)
    ev.write(300, 0, 200, 200)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {("page_lock", "unexplained"): 200 * MS}
    assert chain.explained_ns == 0


def test_a_holder_without_events_is_unexplained(tmp_path: Path) -> None:
    """A flusher of which nothing was traced for 200 ms explains nothing."""
    ev = Events()
    ev.block(300, 0, 200, "page_lock", (77, "kworker/u8:3"), "unlocks")
    ev.write(300, 0, 200, 200)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {("page_lock", "running"): 200 * MS}
    assert chain.explained_ns == 0


def test_an_unknown_stack_woken_by_an_interrupt(tmp_path: Path) -> None:
    """A wait and an interrupt that no rule knows stay unexplained."""
    ev = Events()
    ev.block(300, 0, 200, "mystery", IRQ, "timer", ctx="hardirq")
    ev.write(300, 0, 200, 200)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {("other", "unexplained"): 200 * MS}


def test_a_cycle_ends(tmp_path: Path) -> None:
    """Two tasks that woke each other are followed once."""
    ev = Events()
    ev.block(300, 0, 100, "inode_lock", (301, "latwriter"), "rwsem_up")
    ev.block(301, 0, 100, "inode_lock", (300, "latwriter"), "rwsem_up")
    ev.write(300, 0, 100, 100)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {(*["inode_lock"] * 3, "unexplained"): 100 * MS}


def test_a_convoy_is_shown_once(tmp_path: Path) -> None:
    """Twenty writers behind one lock: each explained, one group, one disk."""
    ev = Events()
    ev.block(253, 0, 200, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1])
    ev.block(300, 0, 200, "journal_buffer", JBD2, "jbd2_wakes")
    ev.write(300, 0, 200, 200)
    for n in range(1, 20):
        waker = (300 + n - 1, "latwriter")
        ev.block(300 + n, 0, 200 + n * 0.01, "inode_lock", waker, "rwsem_up")
        ev.write(300 + n, 0, 200 + n * 0.01, 200, stack="inode_lock")
    result = explained(tmp_path, ev.end())
    assert len(result.chains) == 20
    for chain in result.chains:
        assert_adds_up(chain)
        assert chain.explained_ns >= 0.99 * chain.write.dur_ns
    assert sum(map(len, result.convoys.values())) == 20
    assert len(result.convoys) == 2  # the first, and the nineteen that waited for it
    assert set(map(str, result.roots(result.chains))) >= {"vdb slow for jbd2"}
    last = max(result.chains, key=lambda chain: chain.write.tid)
    shown = unqueued(last.parts[0])
    assert shown.queue == 18 and shown.holder is not None and shown.holder.tid == 300
    assert sum(part.dur_ns for part in shown.parts) == shown.dur_ns
    assert shown.explained_ns == last.parts[0].explained_ns


def test_a_wake_up_that_did_not_help(tmp_path: Path) -> None:
    """The first waker is unknown; that of the next wait is known."""
    ev = Events()
    ev.block(253, 0, 300, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1])
    ev.block(300, 0, 150, "journal_buffer", (99, "bystander"))
    ev.block(300, 150.1, 149.9, "journal_buffer", JBD2, "jbd2_wakes")
    ev.write(300, 0, 300, 299.9, sleeps=2)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain)[("journal_buffer", "device_io")] == 299_900_000
    first = chain.parts[0]
    assert first.link == INFERRED and first.holder is not None
    assert first.holder.tid == 253
    assert len(first.evidence) == 2


@pytest.mark.parametrize(
    ("begins_ms", "ends_ms", "cause", "holder"),
    [
        (0, 290, "device_io", JBD2[0]),
        (20, 290, "running", 99),
        (0, 310, "running", 99),
    ],
)
def test_room_in_the_log_comes_in_the_order_of_asking(
    tmp_path: Path, begins_ms: int, ends_ms: int, cause: str, holder: int
) -> None:
    """Log space is granted in the order of the requests. The waker only returned some;
    a task that was queued before this one, and woken before it, had waited for the
    disk. A task that was queued later, or still waits, proves nothing."""
    ev = Events()
    ev.block(253, 0, ends_ms, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1])
    ev.block(301, begins_ms, ends_ms - begins_ms, "xfs_log_space", JBD2)
    ev.block(300, 10, 290, "xfs_log_space", (99, "kworker"))
    ev.write(300, 10, 290, 290)
    chain = one_chain(tmp_path, ev.end())
    found = ns_by_path(chain)
    assert max(found, key=found.__getitem__) == ("log_space", cause)
    assert_adds_up(chain)
    assert chain.parts[0].holder is not None
    assert chain.parts[0].holder.tid == holder


def test_several_wakers_each_answer_for_their_time(tmp_path: Path) -> None:
    """Two waits of one write have two holders."""
    ev = Events()
    ev.block(253, 0, 100, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1])
    ev.block(300, 0, 100, "journal_buffer", JBD2, "jbd2_wakes")
    ev.block(77, 100, 60, "jbd2_wait", IRQ, "completion", ctx="hardirq", comm="kworker")
    ev.block(300, 100, 60, "page_lock", (77, "kworker"), "unlocks")
    ev.write(300, 0, 160, 160, sleeps=2)
    chain = one_chain(tmp_path, ev.end())
    assert [p.holder.tid for p in chain.parts if p.holder] == [253, 77]


def test_short_sleeps_have_a_part_of_their_own(tmp_path: Path) -> None:
    """The remainder of slept_ns beside the blocks, as far as the number of sleeps
    allows."""
    ev = Events()
    ev.block(300, 0, 90, "dirty_throttle", IRQ, ctx="softirq")
    ev.write(300, 0, 100, 93, sleeps=5)
    chain = one_chain(tmp_path, ev.end())
    kinds = {part.kind: part.dur_ns for part in chain.parts}
    assert kinds == {"wait": 90 * MS, "short_sleeps": 3 * MS, "running": 7 * MS}
    assert chain.explained_ns == 97 * MS


def test_sleeps_too_long_to_be_short_were_lost(tmp_path: Path) -> None:
    """One missing sleep of at most 1 ms cannot hold 50: 49 are unexplained."""
    ev = Events()
    ev.block(300, 0, 50, "dirty_throttle", IRQ, ctx="softirq")
    ev.write(300, 0, 100, 100, sleeps=2)
    chain = one_chain(tmp_path, ev.end())
    kinds = {part.kind: part.dur_ns for part in chain.parts}
    assert kinds == {"wait": 50 * MS, "short_sleeps": MS, "unexplained": 49 * MS}


def test_lost_events_make_gaps_unexplained(tmp_path: Path) -> None:
    """Where events were lost, time without events is not evidence."""
    ev = Events()
    ev.block(300, 0, 90, "dirty_throttle", IRQ, ctx="softirq")
    ev.write(300, 0, 100, 90)
    ev.lost(3)
    result = explained(tmp_path, ev.end())
    (chain,) = result.chains
    assert ns_by_path(chain)[("unexplained",)] == 10 * MS
    assert result.stream.lost_events == 3


def test_runqueue_of_a_holder_counts(tmp_path: Path) -> None:
    """jbd2 was woken and had no CPU for 40 ms: that is what the writer waited for."""
    ev = Events()
    ev.block(253, 0, 60, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1], runq_ms=40)
    ev.block(300, 0, 100, "journal_buffer", JBD2, "jbd2_wakes")
    ev.write(300, 0, 100, 100)
    result = explained(tmp_path, ev.end())
    (chain,) = result.chains
    assert ns_by_path(chain)[("journal_buffer", "runqueue")] == 40 * MS
    assert "no CPU for jbd2" in map(str, result.roots([chain]))


def test_frames_of_an_unknown_module_decide_nothing(tmp_path: Path) -> None:
    """A module may name a function submit_bio: it is still an unknown frame."""
    from writestall.classify.stack import classify

    known = ("schedule+0x1", "submit_bio+0x2", "kthread+0x3")
    unknown = ("schedule+0x1", "submit_bio+0x2 [unheard_of]", "kthread+0x3")
    assert classify(known).cls == c.DEVICE_IO
    assert classify(unknown).cls == c.OTHER


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("fsync", "fsync(2)"),
        ("io_uring_enter", "io_uring_enter(2)"),
        ("io_submit", "io_submit(2)"),
        ("io_uring_write", "io_uring_write"),
        ("aio_fsync", "aio_fsync"),
    ],
)
def test_a_request_is_explained_and_no_system_call(
    call: str, name: str, tmp_path: Path
) -> None:
    """An io_uring or AIO request, of which a tracer may know less (docs/events.md)."""
    ev = Events()
    ev.block(300, 0, 80, "page_writeback", IRQ, "completion", ctx="softirq")
    ev.write(300, 0, 80, 80, call=call, fd=None, dev=None, path=None, bytes=None)
    chain = one_chain(tmp_path, ev.end())
    assert chain.write.name == name
    assert ns_by_path(chain) == {("page_writeback", "device_io"): 80 * MS}
