# SPDX-License-Identifier: GPL-2.0-only
"""This test will tell pages of swap from those of files, the I/O of a buffer from its
commit, and a journal that waits for handles from one that has written."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, joined
from writestall.log.links import LIKELY, POSSIBLE

THREAD = " kthread ret_from_fork"
WORK = " process_one_work worker_thread" + THREAD
COMMITS = "jbd2_journal_commit_transaction/jbd2 kjournald2/jbd2" + THREAD
HANDLE = "do_get_write_access/jbd2 ext4_reserve_inode_write/ext4 ext4_dirty_inode/ext4"
STARTS = (
    "schedule start_this_handle/jbd2 jbd2__journal_start/jbd2 ext4_dirty_inode/ext4"
)
FLUSHES = " ext4_writepages/ext4 do_writepages writeback_sb_inodes wb_workfn" + WORK
SWAPS = "io_schedule mempool_alloc submit_bio __swap_writepage swap_writepage pageout"
LOCKS = "io_schedule __lock_page "
# Who waits, who ends that.
LINKED = (
    (
        "schedule __fuse_request_send fuse_flush_times __writeback_single_inode",
        "schedule inode_wait_for_writeback evict super_cache_scan try_to_free_pages "
        "fuse_copy_fill fuse_dev_do_read",
    ),
    (
        "schedule action_store/md_mod md_attr_store/md_mod",
        "schedule raid5_get_active_stripe/raid456 md_do_sync/md_mod md_thread/md_mod",
    ),
    (
        "schedule rwsem_down_write_slowpath xfs_ilock/xfs xfs_file_buffered_write/xfs",
        "schedule __down xfs_buf_lock/xfs xfs_free_eofblocks/xfs xfs_icwalk_ag/xfs "
        "xfs_blockgc_worker/xfs" + WORK,
    ),
    (
        "schedule rwsem_down_write_failed xfs_ilock/xfs xfs_setattr/xfs notify_change",
        "schedule mutex_lock generic_file_splice_write xfs_file_splice_write/xfs",
    ),
    (
        "schedule mutex_lock generic_file_splice_write xfs_file_splice_write/xfs",
        "schedule rwsem_down_write_failed xfs_ilock/xfs xfs_setattr/xfs notify_change",
    ),
    (
        "schedule wait_for_completion __synchronize_srcu fsnotify_destroy_group",
        "schedule fanotify_handle_event fsnotify security_file_open do_dentry_open",
    ),
    (
        "schedule afs_get_io_locks/kafs afs_begin_vnode_operation/kafs afs_writepages",
        "io_schedule wait_on_page_bit truncate_inode_pages_range "
        "afs_wait_for_operation/kafs afs_setattr/kafs",
    ),
    (
        "schedule rwsem_down_write_slowpath do_remount path_mount",
        "schedule blk_mq_get_tag ext4_writepages/ext4 writeback_sb_inodes "
        "__writeback_inodes_wb wb_writeback wb_workfn" + WORK,
    ),
    (
        LOCKS + "mpage_prepare_extent_to_map/ext4" + FLUSHES,
        "io_schedule wait_on_page_bit write_cache_pages "
        "journal_submit_data_buffers/jbd2 " + COMMITS,
    ),
)
# Who has nothing that the other waits for.
APART = {
    "lock of a buffer": (
        f"io_schedule __lock_buffer {HANDLE}",
        f"io_schedule __wait_on_buffer {COMMITS}",
    ),
    "fault of another file": (
        LOCKS + "filemap_fault do_fault handle_mm_fault",
        "io_schedule get_request_wait ext4_writepage/ext4" + FLUSHES,
    ),
    "page of swap": (
        LOCKS + "do_swap_page handle_mm_fault",
        "io_schedule get_request_wait ext4_writepage/ext4" + FLUSHES,
    ),
    "page to swap": (
        "io_schedule wait_on_page_bit write_cache_pages " + COMMITS,
        f"{SWAPS} shrink_page_list kswapd" + THREAD,
    ),
    "page that is read": (
        LOCKS + "mpage_prepare_extent_to_map/ext4" + FLUSHES,
        "schedule blk_mq_get_tag page_cache_ra_unbounded filemap_fault",
    ),
    "who writes itself": (
        "schedule get_active_stripe ext4_writepages/ext4 writeback_inodes_wb "
        "balance_dirty_pages",
        "schedule get_active_stripe" + FLUSHES,
    ),
    "who waits for the AGI first": (
        "schedule down xfs_buf_lock/xfs xfs_imap_to_bp/xfs xfs_trans_log_inode/xfs",
        "schedule down xfs_buf_lock/xfs xfs_read_agi/xfs xfs_iunlink_remove/xfs "
        "xfs_ifree/xfs xfs_inactive/xfs",
    ),
}


@pytest.mark.parametrize(("waiter", "holder"), LINKED)
def test_who_ends_it(waiter: str, holder: str) -> None:
    links = joined(Shown("waiter", 1, waiter), Shown("holder", 2, holder))
    assert links["waiter"][0] == "holder"


@pytest.mark.parametrize("name", APART)
def test_who_does_not(name: str) -> None:
    waiter, holder = APART[name]
    links = joined(Shown("waiter", 1, waiter), Shown("holder", 2, holder))
    assert "waiter" not in links


def test_of_two_journals_the_one_that_waits_for_handles_keeps_new_ones_out() -> None:
    """fs/jbd2/transaction.c: its transaction alone is T_LOCKED."""
    rows = (
        Shown("jbd2/sda2-8", 1, f"schedule {COMMITS}"),
        Shown("jbd2/sda6-8", 2, f"io_schedule __wait_on_buffer {COMMITS}"),
        Shown("starts", 3, STARTS),
        Shown("has-handle", 4, f"io_schedule __lock_buffer {HANDLE}"),
    )
    assert joined(*rows) == {
        "starts": ("jbd2/sda2-8", LIKELY),
        "jbd2/sda2-8": ("has-handle", LIKELY),
    }


def test_a_work_that_ends_writeback_may_wait_for_its_own_in_reclaim() -> None:
    stack = (
        "io_schedule wait_on_page_bit shrink_page_list try_to_free_pages "
        "kmem_cache_alloc xfs_iomap_write_unwritten/xfs xfs_end_io/xfs"
    )
    row = Shown("kworker/0:1", 1, stack + WORK)
    assert joined(row) == {"kworker/0:1": ("kworker/0:1", POSSIBLE)}


def test_a_second_look_at_one_proc_stack_is_the_same_task() -> None:
    head = "==> /proc/31872/task/31872/stack <=="
    end = [f"[<0>] {name}+0x5/0x90" for name in ("do_syscall_64", "entry_SYSCALL_64")]
    looks = [[head, f"[<0>] {name}+0x1/0x9", *end] for name in ("btrfs_a", "btrfs_b")]
    assert {task.task.pid for task in explained(*looks).tasks} == {31872}
