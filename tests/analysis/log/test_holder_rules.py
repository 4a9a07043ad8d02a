# SPDX-License-Identifier: GPL-2.0-only
"""This test will link waiters with tasks that can hold what they wait for, and no
others."""

from __future__ import annotations

import re

import pytest

from linked_stacks import STACKS
from log_stacks import Shown, assert_linked, explained, joined, named
from writestall.log.holders import HOLDERS
from writestall.log.links import LIKELY, POSSIBLE

LINKED = (
    ("fsync", "commit", LIKELY),
    ("handle", "updates", LIKELY),
    ("handle", "commit", LIKELY),
    ("updates", "orphan", LIKELY),
    ("updates", "extents", LIKELY),
    ("updates", "prepares", POSSIBLE),
    ("space", "checkpoint", LIKELY),
    ("page", "writes-page", LIKELY),
    ("page", "extents", LIKELY),
    ("page", "prepares", POSSIBLE),
    ("locks-page", "writes-page", LIKELY),
    ("under-writeback", "end-io", LIKELY),
    ("under-writeback", "extents", POSSIBLE),
    ("throttled", "extents", LIKELY),
    ("xfs-fsync", "xfs-push", LIKELY),
    ("xfs-iclog", "xfs-push", POSSIBLE),
    ("xfs-iclog", "xfs-ioend", LIKELY),
    ("xfs-push", "xfs-ioend", LIKELY),
    ("xfs-grant", "xfs-ail", LIKELY),
    ("xfs-buffer", "xfs-allocates", POSSIBLE),
    ("xfs-unlinks", "xfs-creates", POSSIBLE),
    ("btrfs-joins", "btrfs-commits", LIKELY),
    ("btrfs-follows", "btrfs-commits", LIKELY),
    ("btrfs-waits", "btrfs-joined", POSSIBLE),
    ("btrfs-range", "btrfs-fiemap", POSSIBLE),
    ("btrfs-ticket", "btrfs-flush", LIKELY),
    ("opens", "creates", POSSIBLE),
    ("lists", "creates", POSSIBLE),
    ("appends", "truncates", POSSIBLE),
    ("lookup", "looks-up", POSSIBLE),
    ("freed", "evicts", POSSIBLE),
    ("new", "reads-inode", POSSIBLE),
    ("array", "md-thread", LIKELY),
    ("reclaims", "kswapd", LIKELY),
    ("ps", "faults", POSSIBLE),
    ("zfs-throttled", "zfs-sync", LIKELY),
    ("zfs-synced", "zfs-sync", LIKELY),
    ("f2fs-op", "f2fs-checkpoint", LIKELY),
    ("barrier", "resync", POSSIBLE),
    ("resync", "raid10d", POSSIBLE),
    ("raid10d", "resync", POSSIBLE),
    ("quota", "rescan", LIKELY),
    ("ordered", "btrfs-waits", LIKELY),
    ("btrfs-waits", "ordered", POSSIBLE),
    ("exits", "attaches", POSSIBLE),
    ("reclaims-log", "xfs-push", LIKELY),
    ("reconnects", "invalidates", POSSIBLE),
    ("map-lock", "map-work", POSSIBLE),
    ("zeroes", "crypt-work", POSSIBLE),
    ("commit", "md-thread", POSSIBLE),
    ("resets", "unloads", POSSIBLE),
    ("unloads", "resets", POSSIBLE),
    ("maps", "commits-inode", POSSIBLE),
    ("thaws", "maps", POSSIBLE),
    ("tree-write", "tree-read", POSSIBLE),
    ("quota-off", "quota-on", POSSIBLE),
    ("hibernates", "probes", POSSIBLE),
    ("unmaps", "nodes", POSSIBLE),
    ("removes", "lists-too", POSSIBLE),
    ("btrfs-waits", "creates-btrfs", POSSIBLE),
    ("stops-sync", "starts-sync", POSSIBLE),
    ("scrubs", "stops-scrub", POSSIBLE),
    ("stops-scrub", "scrubs", POSSIBLE),
    ("reply", "reply-inside", POSSIBLE),
    ("unpins", "flushes-quota", POSSIBLE),
    ("sleeps-on-inode", "writes-inode", POSSIBLE),
)
APART = (
    ("fsync", "xfs-push"),
    ("xfs-fsync", "commit"),
    ("zfs-synced", "commit"),
    ("updates", "handle"),
    ("updates", "inactive"),
    ("updates", "xfs-flush"),
    ("page", "locks-page"),
    ("page", "xfs-flush"),
    ("reads-page", "extents"),
    ("under-writeback", "locks-page"),
    ("throttled", "xfs-flush"),
    ("throttled", "end-io"),
    ("btrfs-range", "btrfs-commits"),
    ("btrfs-commits", "btrfs-joined"),
    ("opens", "fsyncs"),
    ("opens", "truncates"),
    ("appends", "fsyncs"),
    ("appends", "creates"),
    ("lookup", "evicts"),
    ("freed", "looks-up"),
    ("crypt", "md-thread"),
    ("ps", "fsyncs"),
    ("reconnects", "reconnects-too"),
    ("super", "md-thread"),
    ("array", "raid10d"),
    ("under-writeback", "device-pages"),
    ("map-lock", "array"),
    ("nfs-read", "crypt-work"),
    ("crypt-work", "md-thread"),
    ("resets", "map-work"),
    ("quota-off", "quota-add"),
    ("lists", "lists-too"),
    ("starts-sync", "stops-sync"),
    ("btrfs-waits", "btrfs-joins"),
)


def task(name: str, pid: int) -> Shown:
    """One of the stacks under its own name."""
    return Shown(name[:15], pid, STACKS[name])


@pytest.mark.parametrize(("waiter", "holder", "confidence"), LINKED)
def test_who_can_hold_it(waiter: str, holder: str, confidence: str) -> None:
    assert_linked(task(waiter, 11), task(holder, 12), confidence)


@pytest.mark.parametrize(("waiter", "holder"), APART)
def test_who_cannot(waiter: str, holder: str) -> None:
    one, other = task(waiter, 11), task(holder, 12)
    assert one.comm not in joined(one, other)


@pytest.mark.parametrize(
    ("journal", "linked"),
    [("jbd2/dm-3-8", True), ("jbd2/sda2-8", False), ("jbd2/nvme0n1p2-", False)],
)
def test_a_plain_disk_lies_on_no_other(journal: str, linked: bool) -> None:
    """What works for an array or a crypted disk does nothing for a disk of its own."""
    commit = Shown(journal, 11, STACKS["commit"])
    assert (journal in joined(commit, task("crypt-work", 12))) is linked


def test_a_loop_device_connects_two_file_systems() -> None:
    """Its worker waits for the file system below, on another disk than its own."""
    worker = Shown(
        "kworker/u8:5",
        52,
        "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
        "ext4_dirty_inode/ext4 vfs_iter_write loop_process_work/loop process_one_work",
        "loop0 loop_workfn",
    )
    guest = Shown(
        "guest", 53, "io_schedule submit_bio_wait xfs_file_fsync/xfs do_fsync"
    )
    journal = Shown("jbd2/sda1-8", 55, STACKS["updates"])
    assert joined(guest, worker, journal) == {
        "guest": ("kworker/u8:5", POSSIBLE),
        "kworker/u8:5": ("jbd2/sda1-8", LIKELY),
    }
    assert joined(worker, Shown("jbd2/loop0-8", 55, STACKS["commit"]))["jbd2/loop0-8"]


def test_a_stack_of_proc_hides_that_it_waits_too() -> None:
    """It leaves out mutex_lock(): its innermost function takes the same lock."""
    waits = task("map-lock", 11)
    twin = Shown("twin", 12, "writecache_map/dm_writecache dm_submit_bio vfs_write")
    assert joined(waits, twin) == {}


def test_readers_of_a_tree_hold_it_together() -> None:
    """fs/btrfs/ctree.c: the writer waits for all of them."""
    twin = Shown("tree-read-too", 13, STACKS["tree-read"])
    links = joined(task("tree-write", 11), task("tree-read", 12), twin)
    assert links == {"tree-write": ("tree-read", POSSIBLE)}


@pytest.mark.parametrize("rule", [rule for rules in HOLDERS.values() for rule in rules])
def test_every_rule_cites_a_function(rule: object) -> None:
    """A file of the kernel or OpenZFS, and what it says of the wait."""
    source = getattr(rule, "source", "")
    assert re.search(
        r"(block|drivers|fs|include|io_uring|kernel|mm|module)/[\w/.-]+", source
    )
    assert getattr(rule, "why", "")


def test_several_holders_of_one_lock_are_no_answer() -> None:
    """Two directories are changed, and one is waited for; it is unknown which."""
    twin = Shown("creates-too", 13, STACKS["creates"])
    assert joined(task("opens", 11), task("creates", 12), twin) == {}


def test_one_of_several_handles_is_possible() -> None:
    """The commit waits for all of them, so the first is right, but may not be last."""
    twin = Shown("orphan-too", 13, STACKS["orphan"])
    links = joined(task("updates", 11), task("orphan", 12), twin)
    assert links == {"updates": ("orphan", POSSIBLE)}


def test_an_unknown_file_system_makes_a_link_possible_at_best() -> None:
    """A flusher without a function of a file system may be the block device's."""
    flush = Shown(
        "kworker/u8:1",
        12,
        "io_schedule blk_mq_get_tag submit_bio_noacct blkdev_writepages"
        " writeback_sb_inodes wb_workfn",
    )
    assert joined(task("throttled", 11), flush)["throttled"][1] == POSSIBLE
    twin = Shown("kworker/u8:2", 13, flush.stack)
    assert joined(task("throttled", 11), flush, twin) == {}


@pytest.mark.parametrize(
    ("journal", "flusher", "linked"),
    [
        ("jbd2/sda2-8", "8:0", True),
        ("jbd2/sda2-8", "8:16", False),
        ("jbd2/sdaa1-8", "65:160", True),
        ("jbd2/dm-3-8", "253:3", True),
        ("jbd2/dm-3-8", "253:4", False),
        ("jbd2/vdb-8", "254:16", True),
        ("jbd2/vdb-8", "254:0", False),
        ("jbd2/md0-8", "9:0", True),
        ("jbd2/md0-8", "8:0", False),
        ("jbd2/nvme0n1p2-", "259:0", True),
        ("jbd2/nvme0n1p2-", "8:0", False),
        ("jbd2/rbd0-8", "252:0", True),
    ],
)
def test_disks_that_differ(journal: str, flusher: str, linked: bool) -> None:
    """fs/fs-writeback.c names a flusher by its disk, fs/jbd2/journal.c its thread."""
    updates = Shown(journal, 11, STACKS["updates"])
    flush = Shown(
        "kworker/u8:1", 12, STACKS["extents"], f"writeback wb_workfn (flush-{flusher})"
    )
    assert (journal in joined(updates, flush)) is linked


def test_a_worker_of_the_waiters_ring() -> None:
    """io_uring/io-wq.c names a worker after the task it works for."""
    exits = Shown(
        "db", 50, "schedule io_wq_put_and_exit io_uring_cancel_generic do_exit"
    )
    stack = "io_schedule blk_mq_get_tag ext4_file_write_iter/ext4 io_write " + (
        "io_wq_submit_work io_worker_handle_work io_wq_worker"
    )
    own, strange = Shown("iou-wrk-50", 51, stack), Shown("iou-wrk-60", 61, stack)
    assert joined(exits, own, strange)["db"][0] == "iou-wrk-50"
    assert joined(exits, strange) == {}


def test_a_journal_serves_one_file_system_at_a_time() -> None:
    """fs/jbd2 serves ocfs2 and ext4; this thread is of one of the two."""
    start = "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    ocfs2 = Shown("ocfs2", 11, start + "ocfs2_start_trans/ocfs2 vfs_write")
    journal = task("updates", 12)
    assert joined(ocfs2, journal) == {"ocfs2": ("updates", LIKELY)}
    assert joined(ocfs2, journal, task("prepares", 13)) == {
        "ocfs2": ("updates", LIKELY)
    }
    links = joined(ocfs2, journal, task("orphan", 13))
    assert links == {"updates": ("orphan", LIKELY)}


def test_an_owner_not_stuck_holds_nothing_else() -> None:
    """The kernel shows it for one lock; no rule may infer that it holds another."""
    said = "INFO: task opens:11 is blocked on a mutex likely owned by task creates:12."
    owner = Shown("creates", 12, STACKS["creates"], state="S")
    lists = task("lists", 13)
    answer = explained(task("opens", 11).report(said), owner.lines(), lists.report())
    assert list(named(answer)) == ["opens"]
