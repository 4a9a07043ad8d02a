# SPDX-License-Identifier: GPL-2.0-only
"""This test will check waits that end with an I/O: their device and its submitter."""

from __future__ import annotations

from pathlib import Path

import pytest

from build import Events
from chains import IRQ, JBD2, MS, explained, ns_by_path, one_chain
from writestall.chain.parts import INFERRED, SEEN
from writestall_base import wait_classes as c


def test_a_completion_interrupt_ends_at_the_device(tmp_path: Path) -> None:
    """A wait for a page under writeback, ended by its I/O, is the disk's time."""
    ev = Events()
    ev.block(300, 0, 80, "page_writeback", IRQ, "completion", ctx="softirq")
    ev.write(300, 0, 80, 80)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {("page_writeback", "device_io"): 80 * MS}
    assert chain.parts[0].link == SEEN


def test_a_submitter_asleep_with_the_bio_is_found(tmp_path: Path) -> None:
    """The I/O was fast once submitted: its submitter slept while it held the bio."""
    ev = Events()
    ev.block(253, -5, 304, "jbd2_submit", IRQ, ctx="softirq", comm=JBD2[1])
    ev.block(300, 0, 300, "page_writeback", IRQ, "completion", ctx="hardirq")
    ev.write(300, 0, 300, 300)
    chain = one_chain(tmp_path, ev.end())
    (wait,) = chain.parts
    assert wait.holder is not None and wait.holder.tid == 253
    assert wait.link == INFERRED
    leaves = [(leaf.cls, leaf.task.tid, leaf.dur_ns) for leaf in wait.parts]
    assert leaves == [("device_io", 253, 299 * MS), ("device_io", 253, MS)]


def test_the_journals_shadow_ends_by_interrupt(tmp_path: Path) -> None:
    """BH_Shadow clears when the log block is written (fs/jbd2/commit.c,
    journal_end_buffer_io_sync()): the writer never sees jbd2, which held the bios."""
    ev = Events()
    for at in (0, 300.4, 600.8):
        ev.block(253, at, 300, "jbd2_hidden", IRQ, ctx="hardirq", comm=JBD2[1])
    ev.block(300, 10, 893, "journal_buffer", IRQ, "shadow_ends", ctx="hardirq")
    ev.write(300, 10, 893, 893)
    result = explained(tmp_path, ev.end())
    (chain,) = result.chains
    assert ns_by_path(chain) == {
        ("journal_buffer", "device_io"): 892_200_000,
        ("journal_buffer", "running"): 800_000,
    }
    assert chain.parts[0].holder is not None
    assert chain.parts[0].holder.comm == "jbd2/vdb-8"
    assert chain.explained_ns == chain.write.dur_ns
    assert str(next(iter(result.roots([chain])))) == "vdb slow for jbd2"


@pytest.mark.parametrize("timer", ["timer", "old_timer"])
def test_a_pause_of_the_journal_is_not_the_disks(timer: str, tmp_path: Path) -> None:
    """As of a commit with msleep() before it submits its blocks. What the writer waits
    for is the buffer, which an I/O releases that took little of that time."""
    ev = Events()
    ev.block(253, 0, 400, "jbd2_sleeps", IRQ, timer, ctx="softirq", comm=JBD2[1])
    ev.block(300, 1, 403, "journal_buffer", IRQ, "shadow_ends", ctx="hardirq")
    ev.write(300, 1, 403, 403)
    result = explained(tmp_path, ev.end())
    (chain,) = result.chains
    assert ns_by_path(chain) == {
        ("journal_buffer", "timer"): 399 * MS,
        ("journal_buffer", "device_io"): 4 * MS,
    }
    assert str(next(iter(result.roots([chain])))) == "timer of jbd2"


def test_a_time_that_ran_out_is_not_the_disks(tmp_path: Path) -> None:
    """A poll, unlike a pause, may be for anything; it is not known for what."""
    ev = Events()
    ev.block(253, 0, 400, "jbd2_polls", IRQ, "timer", ctx="softirq", comm=JBD2[1])
    ev.block(300, 1, 399, "journal_buffer", JBD2, "jbd2_wakes")
    ev.write(300, 1, 399, 399)
    chain = one_chain(tmp_path, ev.end())
    path = "journal_buffer", "journal_transaction", "unexplained"
    assert ns_by_path(chain) == {path: 399 * MS}
    assert not chain.explained_ns


def test_an_unknown_module_in_iowait_is_the_way_down(tmp_path: Path) -> None:
    """In iowait below the journal it holds the bio; elsewhere it only waits."""
    from writestall.classify.stack import FOREIGN, classify

    tail = ("keeps+0x1 [unheard_of]", "jbd2_journal_commit_transaction+0x2 [jbd2]")
    iowait = ("schedule+0x1", "io_schedule+0x2")
    assert classify((*iowait, *tail)).rule is FOREIGN
    elsewhere = classify((*iowait, tail[0], "vfs_write+0x3"))
    assert elsewhere.cls == c.DEVICE_IO and elsewhere.rule is not FOREIGN
    assert classify(("schedule+0x1", tail[0], "vfs_write+0x3")).cls == c.OTHER


def test_a_submitter_is_the_device_whoever_wakes_it(tmp_path: Path) -> None:
    """jbd2 asleep below submit_bh is the disk's time, though a task woke it."""
    for waker in ((9, "rmmod"), IRQ):
        ev = Events()
        ctx = "task" if waker[0] else "softirq"
        ev.block(253, 0, 100, "jbd2_submit", waker, ctx=ctx, comm=JBD2[1])
        ev.block(300, 0, 100, "journal_buffer", JBD2, "jbd2_wakes")
        ev.write(300, 0, 100, 100)
        chain = one_chain(tmp_path / str(waker[0]), ev.end())
        assert ns_by_path(chain) == {("journal_buffer", "device_io"): 100 * MS}


def test_what_only_its_io_ends_needs_no_name_of_it(tmp_path: Path) -> None:
    """Tail calls leave complete() below the workqueue; the wait shows what it waited
    for."""
    worker, flusher = (46, "kworker/1:1"), (77, "kworker/u8:3")
    for wait in ("xfs_iowait", "xfs_iowait_inlined"):
        ev = Events()
        ev.block(77, 0, 190, wait, worker, "work_completes", comm=flusher[1])
        ev.block(300, 0, 190.1, "inode_lock", flusher, "rwsem_up")
        ev.write(300, 0, 190.1, 190.1)
        chain = one_chain(tmp_path / wait, ev.end())
        assert ns_by_path(chain)[("inode_lock", "device_io")] == 190 * MS
    # A wait that a work item ends is not enough.
    ev = Events()
    ev.block(77, 0, 190, "mystery", worker, "work_completes", comm=flusher[1])
    ev.block(300, 0, 190.1, "inode_lock", flusher, "rwsem_up")
    ev.write(300, 0, 190.1, 190.1)
    chain = one_chain(tmp_path / "other", ev.end())
    assert ("inode_lock", "device_io") not in ns_by_path(chain)
    assert chain.explained_ns < MS


def test_a_work_behind_an_io_stands_for_it(tmp_path: Path) -> None:
    """XFS ends a buffer's I/O in a work item; before that the worker was idle."""
    ev = Events()
    ev.block(300, 0, 200, "xfs_log_space", (77, "kworker/1:2"), "xfs_buffer_ends")
    ev.write(300, 0, 200, 200)
    chain = one_chain(tmp_path, ev.end())
    assert ns_by_path(chain) == {("log_space", "device_io"): 200 * MS}
    assert chain.explained_ns == 200 * MS


def test_who_completed_an_io_is_not_who_held_it_up(tmp_path: Path) -> None:
    """XFS ends writeback in a work item; until then the flusher slept with the bio."""
    ev = Events()
    flusher = "kworker/u8:3"
    ev.block(77, -5, 304.9, "jbd2_submit", IRQ, ctx="softirq", comm=flusher)
    worker = (64, "kworker/0:2")
    ev.block(300, 0, 300, "page_writeback", worker, "xfs_writeback_ends")
    ev.write(300, 0, 300, 300)
    chain = one_chain(tmp_path, ev.end())
    (wait,) = chain.parts
    assert wait.holder is not None and wait.holder.tid == 77
    assert wait.link == INFERRED
    leaves = [(leaf.cls, leaf.task.tid, leaf.dur_ns) for leaf in wait.parts]
    assert leaves == [("device_io", 77, 299_900_000), ("device_io", 77, 100_000)]


def test_a_stacked_disk_waits_for_the_one_below(tmp_path: Path) -> None:
    """loop's worker sleeps on what the writer waits for. A flusher with its own bios is
    unrelated to a disk that completes them itself."""
    found = {}
    for stack in ("loop_sends", "jbd2_submit"):
        ev = Events()
        ev.block(12, 10, 280, stack, IRQ, ctx="hardirq", comm="kworker/u8:0")
        ev.block(300, 0, 300, "own_io", IRQ, "completion", ctx="softirq")
        ev.write(300, 0, 300, 300)
        (wait,) = one_chain(tmp_path / stack, ev.end()).parts
        assert wait.cls == "device_io"
        found[stack] = [(leaf.task.tid, leaf.dur_ns) for leaf in wait.leaves()]
    assert found["jbd2_submit"] == [(300, 300 * MS)]
    assert (12, 280 * MS) in found["loop_sends"]
