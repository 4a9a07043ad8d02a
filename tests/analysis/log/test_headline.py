# SPDX-License-Identifier: GPL-2.0-only
"""This test will summarise the tasks of a log in one sentence."""

from __future__ import annotations

import pytest

from linked_stacks import STACKS
from log_stacks import Shown, explained
from writestall.log.headline import sentence
from writestall.log.text import report


def said(*tasks: Shown, after: str = "") -> str:
    """The sentence for tasks that are reported one after the other."""
    lines = [line for task in tasks for line in task.report()]
    return sentence(explained(lines, *([after] if after else [])), "log")


def task(name: str, pid: int, comm: str = "") -> Shown:
    """One of the stacks of the tests of holders."""
    return Shown(comm or name[:15], pid, STACKS[name])


def test_the_root_with_most_tasks_behind_it() -> None:
    """Not the log's first task, and not the longest chain."""
    text = said(
        task("xfs-grant", 1),
        task("xfs-ail", 2),
        task("fsync", 3),
        task("fsync", 4),
        task("commit", 5, "jbd2/sda1-8"),
    )
    assert "3 of them come down to jbd2/sda1-8/5 (journal), which waits for" in text
    assert text.index("jbd2/sda1-8/5") < text.index(
        "besides, 2 of them come down to xfs"
    )


def test_a_possible_link_on_the_way_is_said() -> None:
    sure = said(task("updates", 1), task("orphan", 2), task("handle", 3))
    assert "3 of them come down to orphan/2" in sure
    unsure = said(task("updates", 1), task("prepares", 2), task("handle", 3))
    assert "3 of them may come down to prepares/2" in unsure


def test_a_task_that_waits_for_itself() -> None:
    """It waits for the same lock twice."""
    line = "INFO: task one:1 is blocked on a mutex likely owned by task one:1."
    text = sentence(explained(task("orphan", 1, "one").report(line)), "log")
    assert "one/1 waits for a lock that it holds itself" in text


def test_a_cycle_is_shown_beside_other_chains() -> None:
    """No task outside the cycle leads to it."""
    lines = [
        line
        for one in (
            task("btrfs-waits", 1),
            task("btrfs-range", 2),
            Shown("fiemap", 3, FIEMAP),
            task("fsync", 4),
            task("commit", 5),
        )
        for line in one.report()
    ]
    text = list(report(explained(lines), "log"))
    assert any("a circle" in line and "back to" in line for line in text)
    assert any("commit/5" in line and "likely" in line for line in text)


def test_two_roots_with_as_many() -> None:
    text = said(
        task("xfs-grant", 1), task("xfs-ail", 2), task("fsync", 3), task("commit", 4)
    )
    assert "xfs-ail/2" in text and "commit/4" in text


def test_without_links_the_nearest_to_the_device_comes_first() -> None:
    text = said(task("lookup", 1), task("xfs-fsync", 2), task("crypt", 3))
    assert "nothing joins them: crypt/3" in text
    assert text.index("crypt/3") < text.index("xfs-fsync/2") < text.index("lookup/1")


def test_tasks_that_do_the_same_are_said_once() -> None:
    """Not the first three of them, for there are others."""
    text = said(
        *(task("lookup", pid, "find") for pid in range(1, 8)),
        task("xfs-fsync", 8),
        task("crypt", 9),
    )
    assert "find/1 (other), like 6 more, waits until another task's lookup" in text
    assert "crypt/9" in text and "xfs-fsync/8" in text and "find/2" not in text


def test_a_single_task_has_no_link_and_no_note() -> None:
    text = said(task("lookup", 1))
    assert "nothing joins" not in text and "1 stuck task in log: lookup/1" in text


@pytest.mark.parametrize(
    ("comm", "words"),
    [
        ("kswapd0", "reclaims memory"),
        ("kcompactd0", "compacts memory"),
        ("khugepaged", "collapses pages"),
    ],
)
def test_threads_that_make_memory_do_not_wait_for_it(comm: str, words: str) -> None:
    text = said(Shown(comm, 1, STACKS["kswapd"]))
    assert words in text and "waits for memory" not in text


def test_what_such_a_thread_waits_for_meanwhile() -> None:
    stack = (
        "io_schedule folio_wait_bit_common __folio_lock migrate_pages_batch "
        "migrate_pages compact_zone kcompactd kthread"
    )
    text = said(Shown("kcompactd0", 1, stack))
    assert "compacts memory, and meanwhile waits for a page lock" in text
    reads = "schedule rwsem_down_read_slowpath down_read rmap_walk_file shrink_node"
    text = said(Shown("kswapd0", 1, f"{reads} kswapd kthread"))
    assert "reclaims memory, and meanwhile waits for a lock (i_mmap_rwsem)" in text


def test_a_cycle_is_a_deadlock_only_if_the_kernel_shows_all_of_it() -> None:
    one, other = task("orphan", 1, "one"), task("truncates", 2, "other")
    line = "INFO: task {}:{} is blocked on a mutex likely owned by task {}:{}."
    pasted = [
        *one.report(line.format("one", 1, "other", 2)),
        *other.report(line.format("other", 2, "one", 1)),
    ]
    assert "deadlock: one/1, other/2" in sentence(explained(pasted), "log")
    guessed = said(
        task("btrfs-waits", 1), task("btrfs-range", 2), Shown("fiemap", 3, FIEMAP)
    )
    assert "deadlock" not in guessed and "circle" in guessed


FIEMAP = (
    "schedule wait_current_trans/btrfs start_transaction/btrfs extent_fiemap/btrfs "
    "do_vfs_ioctl"
)


def test_a_cycle_made_by_one_rule_is_dropped() -> None:
    """Each may hold the page the other waits for: one of the two guesses is wrong."""
    stack = (
        "io_schedule folio_wait_writeback truncate_inode_pages_range "
        "ext4_punch_hole/ext4 ext4_fallocate/ext4 submit_bio_noacct "
        "ext4_writepages/ext4"
    )
    answer = explained(
        Shown("one", 1, stack).report(), Shown("other", 2, stack).report()
    )
    assert not any(answer.circle(at) for at in range(2))


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        (
            "schedule request_wait_answer/fuse fuse_file_write_iter/fuse vfs_write",
            "FUSE",
        ),
        ("schedule p9_client_rpc/9pnet v9fs_file_fsync/9p do_fsync", "9P"),
        ("io_schedule rq_qos_wait wbt_wait __rq_qos_throttle submit_bio", "wbt"),
        ("io_schedule blkcg_maybe_throttle_current do_syscall_64", "cgroup"),
        (STACKS["ps"], "mmap_lock"),
        (STACKS["lookup"], "lookup of the same name"),
        ("schedule __wait_on_freeing_inode find_inode_fast", "read in or freed"),
        (
            "schedule handle_reserve_ticket/btrfs __reserve_bytes/btrfs",
            "btrfs has made",
        ),
        ("schedule __mutex_lock rtnl_lock dev_ioctl", "network devices (rtnl_mutex)"),
        ("schedule raid5_make_request/raid456 md_handle_request", "stripes"),
        ("schedule md_ioctl blkdev_ioctl", "superblock"),
        ("schedule __mutex_lock odd_function", "waits for a mutex in odd_function()"),
        ("schedule", "its stack does not show for what"),
        ("schedule __mutex_lock __fdget_pos ksys_write", "(f_pos_lock)"),
        ("schedule down_write do_unlinkat", "the lock of a directory (i_rwsem)"),
        (
            "io_schedule rq_qos_wait wbt_wait __rq_qos_throttle submit_bio "
            "__swap_writepage pageout shrink_page_list try_to_free_pages",
            "reclaims memory, and meanwhile is throttled",
        ),
        ("schedule msleep odd_function", "pauses in odd_function(), and tries again"),
        (
            "io_schedule folio_wait_bit_common folio_put_wait_locked "
            "do_read_cache_folio read_part_sector",
            "waits for the disk",
        ),
        ("io_schedule folio_wait_bit_common __folio_lock do_read_cache_folio", "page"),
    ],
)
def test_words_of_single_rules(stack: str, words: str) -> None:
    assert words in said(Shown("task", 1, stack))


def test_who_waits_for_nobody_is_not_its_own_answer() -> None:
    """One chain, and a task beside it."""
    line = "INFO: task one:1 is blocked on a mutex likely owned by task two:2."
    lines = [*task("orphan", 1, "one").report(line), *task("xfs-flush", 3).report()]
    text = sentence(explained(lines), "log")
    assert "one/1 comes down to two/2" in text
    assert text.endswith(
        "; besides, xfs-flush/3 (writeback) waits for room in the disk's queue."
    )


def test_the_host_is_named_where_there_are_several() -> None:
    """The same number on two machines."""
    lines = [
        f"Aug  3 11:22:33 {host} kernel: {row}"
        for host in ("alpha", "beta")
        for name, pid in (("commit", 5), ("fsync", 6))
        if (host, name) != ("alpha", "commit")
        for row in task(name, pid).report()
    ]
    answer = explained(lines)
    assert "fsync/6 on beta" not in sentence(explained(lines[-12:]), "log")
    assert "commit/5 on beta (journal), which waits" in sentence(answer, "log")
    rows = list(report(answer, "log"))
    assert any("fsync/6 on alpha (writer)" in row for row in rows)


ROOM = "io_schedule blk_mq_get_tag submit_bio_noacct "
WRITES = ROOM + "mpage_map_and_submit_extent/ext4 writeback_sb_inodes wb_workfn"
FLUSH = "writeback wb_workfn (flush-8:%d)"


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        (0, "3 of them come down to kworker/1:0/2 (writeback), like raid/3, which"),
        (16, "2 of them come down to kworker/1:0/2 (writeback), which"),
    ],
)
def test_roots_that_do_the_same_are_one(disk: int, words: str) -> None:
    """Those that nothing waits for as well, unless their names show another disk."""
    rows = (
        task("updates", 1),
        Shown("kworker/1:0", 2, WRITES, FLUSH % 0),
        Shown("raid", 3, ROOM + "raid1d/raid1 md_thread/md_mod", FLUSH % disk),
    )
    assert words in said(*rows)


def test_roots_far_from_the_device_count_with_tasks_behind_them_only() -> None:
    """Who else waits for a page may wait for one of those nearer to it."""
    rows = task("page", 1), task("writes-page", 2), task("reads-page", 3)
    assert "2 of them come down to writes-page/2" in said(*rows)


def test_what_most_tasks_do_comes_first() -> None:
    """Before one that is nearer to the device, and before few that a link joins."""
    one = task("extents", 1)
    many = [Shown(f"p{at}", at, "schedule synchronize_rcu") for at in range(11, 20)]
    assert "nothing joins them: p11/11 (other), like 8 more, waits" in said(one, *many)
    linked = said(task("updates", 2), one, *many)
    assert "log: p11/11 (other), like 8 more, waits for a grace period" in linked


def test_a_task_that_is_stuck_in_two_ways_counts_once() -> None:
    """First for a tag, two minutes later for a page; another waits behind it."""
    tag = Shown("dd", 7, "io_schedule blk_mq_get_tag blk_mq_submit_bio submit_bio")
    page = Shown("dd", 7, "io_schedule folio_wait_bit_common folio_wait_writeback")
    text = sentence(explained(tag.report() + page.report()), "log")
    assert text.startswith("1 stuck task in log, in 2 moments")
