# SPDX-License-Identifier: GPL-2.0-only
"""This test will classify waits for locks that are taken in wrapper functions.

Which lock xfs_ilock() or f2fs_down_write() takes is known by who calls it, not by what
stands further out. Each stack is a call chain of the kernel's own source, innermost
first; none is anybody's report.
"""

from __future__ import annotations

import pytest

from writestall.classify.frames import frame
from writestall.classify.stack import classify_frames, role_of

READ = "schedule rwsem_down_read_slowpath down_read"
WRITE = "schedule rwsem_down_write_slowpath down_write"
WAYS = [
    # fs/xfs: the IOLOCK is i_rwsem, the ILOCK is XFS's own.
    ("inode_lock", f"{WRITE} xfs_ilock xfs_file_buffered_write vfs_write"),
    ("inode_lock", f"{READ} xfs_ilock xfs_ilock_iocb xfs_file_dio_write_aligned"),
    ("inode_lock", f"{READ} xfs_ilock xfs_file_buffered_read vfs_read"),
    ("inode_lock", "xfs_ilock xfs_file_dio_write_aligned xfs_file_write_iter"),
    ("fs_lock", f"{READ} xfs_ilock xfs_file_fsync do_fsync"),
    ("fs_lock", f"{READ} xfs_ilock xfs_fsync_seq xfs_file_fsync do_fsync"),
    (
        "fs_lock",
        f"{WRITE} xfs_ilock xfs_trans_alloc_inode xfs_alloc_file_space "
        "xfs_file_fallocate vfs_fallocate",
    ),
    (
        "fs_lock",
        f"{WRITE} xfs_ilock xfs_trans_alloc_ichange xfs_setattr_nonsize "
        "xfs_vn_setattr notify_change",
    ),
    ("fs_lock", f"{WRITE} xfs_ilock xfs_file_ioctl do_vfs_ioctl"),
    ("fs_lock", "xfs_ilock xfs_ilock_data_map_shared xfs_dir_open xfs_file_open"),
    # fs/f2fs: f2fs_down_write() is inlined or not.
    ("fs_transaction", f"{WRITE} f2fs_down_write f2fs_issue_checkpoint f2fs_sync_fs"),
    ("fs_transaction", f"{WRITE} f2fs_issue_checkpoint f2fs_balance_fs_bg"),
    ("fs_lock", f"{WRITE} f2fs_down_write move_data_block f2fs_gc f2fs_balance_fs"),
    # fs/xfs/xfs_log_cil.c, with and without xlog_cil_push_background() inlined.
    ("log_space", "schedule xlog_cil_push_background xlog_cil_commit xfs_trans_commit"),
    ("log_space", "schedule xfs_log_commit_cil __xfs_trans_commit xfs_remove"),
    ("log_space", "xfs_log_commit_cil __xfs_trans_commit xfs_vn_update_time"),
    ("fs_lock", f"{READ} xlog_cil_commit __xfs_trans_commit xfs_vn_update_time"),
    (
        "journal_commit_wait",
        "schedule xlog_wait_on_iclog xfs_log_force_seq __xfs_trans_commit xfs_remove",
    ),
    # mm/truncate.c before 5.16: the page is locked already.
    (
        "page_writeback",
        "io_schedule wait_on_page_bit invalidate_inode_pages2_range vfs_write",
    ),
    ("page_lock", "io_schedule __lock_page invalidate_inode_pages2_range vfs_write"),
    # mm/filemap.c: down_read() of the invalidate_lock, which lies in .sched.text.
    ("fs_lock", "filemap_fault __do_fault do_read_fault do_fault handle_mm_fault"),
    ("page_lock", "folio_wait_bit_common filemap_fault __do_fault handle_mm_fault"),
    # fs/fs-writeback.c: a second sync of a file system waits for the first.
    ("fs_lock", f"{WRITE} sync_inodes_sb sync_filesystem ovl_sync_fs iterate_supers"),
    ("fs_lock", "schedule __mutex_lock wait_sb_inodes sync_inodes_sb iterate_supers"),
    (
        "page_writeback",
        "schedule wb_wait_for_completion sync_inodes_sb sync_filesystem ovl_sync_fs",
    ),
    # mm/vmscan.c: balance_pgdat() and do_try_to_free_pages() inlined.
    (
        "memory",
        "io_schedule get_request_wait __make_request submit_bio swap_writepage "
        "shrink_page_list shrink_inactive_list shrink_zone kswapd kthread",
    ),
    ("memory", "io_schedule folio_wait_bit_common folio_wait_writeback shrink_node"),
    # fs/drop_caches.c: an explicit request, not a shortage of memory.
    (
        "fs_lock",
        "percpu_rwsem_wait __percpu_down_read __sb_start_write f2fs_evict_inode evict "
        "prune_icache_sb super_cache_scan do_shrink_slab shrink_slab drop_slab",
    ),
]


@pytest.mark.parametrize(("cls", "stack"), WAYS)
def test_class(cls: str, stack: str) -> None:
    """The owner of the lock."""
    assert classify_frames([frame(name, None) for name in stack.split()]).cls == cls


@pytest.mark.parametrize(
    ("role", "stack"),
    [
        # Logs are truncated before the main function of the thread.
        ("writeback", "blk_mq_get_tag do_writepages writeback_sb_inodes"),
        ("writeback", "blk_mq_get_tag do_writepages __writeback_inodes_wb"),
        # Before 3.2, tasks that dirtied pages wrote some back themselves.
        ("other", "get_request writeback_sb_inodes balance_dirty_pages do_wp_page"),
        ("writer", "get_request writeback_sb_inodes balance_dirty_pages vfs_write"),
        ("writeback", "__lock_page cifs_writev_requeue process_one_work"),
        ("writer", "cifs_writev_requeue cifs_strict_writev vfs_write"),
    ],
)
def test_role(role: str, stack: str) -> None:
    """A flusher without its main function, and a worker that retries a write."""
    assert role_of([frame(name, None) for name in stack.split()], None) == role
