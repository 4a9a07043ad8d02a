# SPDX-License-Identifier: GPL-2.0-only
"""This test will link waiters for locks of file systems that lockdep showed us.

Each pair stood so in tests/data/lock-lists, where the kernel lists who has the lock.
"""

from __future__ import annotations

import pytest

from log_stacks import Shown, joined
from writestall.log.links import LIKELY, POSSIBLE

FOR_READING = "schedule rwsem_down_read_slowpath down_read "
FOR_WRITING = "schedule rwsem_down_write_slowpath down_write "
WAITS_FOR_SUPER = FOR_READING + "super_lock __iterate_supers ksys_sync"
COMMIT = "jbd2_log_wait_commit/jbd2 "
PAIRS = {
    "a reader of s_umount and a sync with it": (
        WAITS_FOR_SUPER,
        "io_schedule folio_wait_writeback filemap_fdatawait_keep_errors "
        "sync_inodes_sb __iterate_supers ksys_sync",
    ),
    "syncfs(2) and a sync whose callback has no frame": (
        FOR_READING + "__x64_sys_syncfs",
        COMMIT + "ext4_sync_fs/ext4 __iterate_supers ksys_sync",
    ),
    "fsconfig(2) and an unmount": (
        FOR_WRITING + "__x64_sys_fsconfig",
        COMMIT + "ext4_put_super/ext4 generic_shutdown_super kill_block_super",
    ),
    "a remount and a sync": (
        FOR_WRITING + "path_mount __x64_sys_mount",
        "io_schedule folio_wait_writeback sync_inodes_sb __iterate_supers ksys_sync",
    ),
    "readahead and a truncation": (
        FOR_READING + "do_page_cache_ra filemap_get_pages filemap_splice_read",
        "io_schedule bit_wait_io do_get_write_access/jbd2 ext4_truncate/ext4 "
        "ext4_setattr/ext4 notify_change do_truncate",
    ),
    "a reader of s_umount and a writer that waits": (
        WAITS_FOR_SUPER,
        FOR_WRITING + "super_lock freeze_super do_vfs_ioctl",
    ),
    "a freeze and a fault that makes a page writable": (
        "schedule percpu_down_write freeze_super do_vfs_ioctl",
        "io_schedule folio_wait_writeback ext4_page_mkwrite/ext4 do_page_mkwrite",
    ),
    "a rename and an operation in its directory": (
        FOR_WRITING + "do_renameat2",
        COMMIT + "ext4_mkdir/ext4 vfs_mkdir do_mkdirat",
    ),
    "a folder and a task that lists it, which waits for a lookup": (
        FOR_WRITING + "do_unlinkat",
        "schedule d_alloc_parallel fuse_readdir_uncached/fuse iterate_dir",
    ),
    "two renames between directories": (
        "schedule __mutex_lock do_renameat2",
        COMMIT + "ext4_rename/ext4 vfs_rename do_renameat2",
    ),
    "a folder of a subvolume and a snapshot in it": (
        FOR_WRITING + "path_openat do_filp_open",
        "schedule wait_for_commit/btrfs btrfs_commit_transaction/btrfs "
        "btrfs_mksubvol/btrfs btrfs_ioctl/btrfs",
    ),
    "a folder of btrfs that is opened": (
        FOR_WRITING + "btrfs_get_dir_last_index/btrfs btrfs_opendir/btrfs "
        "do_dentry_open",
        "schedule wait_current_trans/btrfs start_transaction/btrfs "
        "btrfs_unlink/btrfs vfs_unlink do_unlinkat",
    ),
    "a write and a change of attributes": (
        FOR_WRITING + "ext4_buffered_write_iter/ext4 vfs_write",
        "io_schedule bit_wait_io do_get_write_access/jbd2 "
        "ext4_xattr_set_handle/ext4 vfs_setxattr path_setxattr",
    ),
    "a write and a change of flags": (
        FOR_WRITING + "ext4_buffered_write_iter/ext4 vfs_write",
        "io_schedule bit_wait_io jbd2_log_do_checkpoint/jbd2 "
        "ext4_change_inode_journal_flag/ext4 vfs_fileattr_set",
    ),
    "a write and a link to the file": (
        FOR_WRITING + "ext4_buffered_write_iter/ext4 vfs_write",
        "io_schedule bit_wait_io do_get_write_access/jbd2 __ext4_link/ext4 vfs_link "
        "do_linkat",
    ),
    "fiemap of f2fs and a write": (
        FOR_READING + "f2fs_fiemap/f2fs __x64_sys_ioctl",
        FOR_READING + "f2fs_do_truncate_blocks/f2fs f2fs_file_write_iter/f2fs",
    ),
    "a change of attributes and an fsync with the file's lock": (
        FOR_WRITING + "vfs_setxattr path_setxattr",
        "schedule lmGroupCommit/jfs txCommit/jfs jfs_fsync/jfs do_fsync",
    ),
    "a change of flags and writeback of ext4": (
        "schedule percpu_down_write ext4_change_inode_journal_flag/ext4",
        COMMIT + "ext4_do_writepages/ext4 ext4_writepages/ext4 do_writepages",
    ),
    "an inode of XFS and an fsync that forces the log": (
        FOR_WRITING + "xfs_trans_alloc_ichange/xfs xfs_setattr_nonsize/xfs",
        "schedule xlog_wait_on_iclog/xfs xfs_log_force_seq/xfs xfs_file_fsync/xfs",
    ),
    "an inode of XFS and a task that changes it": (
        FOR_WRITING + "xfs_trans_alloc_inode/xfs xfs_iomap_write_unwritten/xfs",
        "schedule xfs_buf_iowait/xfs xfs_bmapi_write/xfs xfs_map_blocks/xfs",
    ),
    "a transaction of nilfs2 and the writer of segments": (
        FOR_READING + "nilfs_transaction_begin/nilfs2 nilfs_create/nilfs2",
        "schedule nilfs_wait_on_logs/nilfs2 nilfs_segctor_do_construct/nilfs2",
    ),
    "the writer of segments and a transaction of nilfs2": (
        FOR_WRITING + "nilfs_transaction_lock/nilfs2 nilfs_segctor_thread/nilfs2",
        "io_schedule bit_wait_io nilfs_get_block/nilfs2 nilfs_write_begin/nilfs2",
    ),
    "a transaction of gfs2 and a flush of its log": (
        FOR_READING + "__gfs2_trans_begin/gfs2 gfs2_create_inode/gfs2",
        "io_schedule log_flush_wait/gfs2 gfs2_log_flush/gfs2 gfs2_fsync/gfs2",
    ),
    "a rename of 7.2 and a name that is made in its directory": (
        FOR_WRITING + "__start_renaming filename_renameat2",
        "schedule wait_current_trans/btrfs start_transaction/btrfs "
        "btrfs_create_common/btrfs path_openat do_file_open",
    ),
    "a folder that is removed and a name that is made in its parent": (
        FOR_WRITING + "filename_rmdir",
        COMMIT + "ext4_mkdir/ext4 vfs_mkdir filename_mkdirat",
    ),
    "two changes of the size of a file of XFS": (
        FOR_WRITING + "xfs_ilock/xfs __xfs_file_fallocate/xfs vfs_fallocate",
        "schedule xlog_wait_on_iclog/xfs __xfs_file_fallocate/xfs vfs_fallocate",
    ),
    "a flush of gfs2's log and a transaction": (
        FOR_WRITING + "gfs2_log_flush/gfs2 gfs2_write_inode/gfs2",
        "io_schedule submit_bio_wait fallocate_chunk/gfs2 gfs2_fallocate/gfs2",
    ),
    "a transaction of gfs2 and another one": (
        FOR_READING + "__gfs2_trans_begin/gfs2 gfs2_create_inode/gfs2",
        "io_schedule submit_bio_wait fallocate_chunk/gfs2 gfs2_fallocate/gfs2",
    ),
    "ocfs2's allocator of inodes": (
        FOR_WRITING + "ocfs2_reserve_suballoc_bits/ocfs2 ocfs2_mknod/ocfs2",
        FOR_WRITING + "ocfs2_reserve_local_alloc_bits/ocfs2 ocfs2_mknod/ocfs2",
    ),
    "ocfs2's local allocator": (
        FOR_WRITING + "ocfs2_reserve_local_alloc_bits/ocfs2 ocfs2_mknod/ocfs2",
        "schedule start_this_handle/jbd2 ocfs2_start_trans/ocfs2 "
        "ocfs2_extend_allocation/ocfs2",
    ),
    "ocfs2's truncate log": (
        FOR_WRITING + "ocfs2_flush_truncate_log/ocfs2 ocfs2_sync_fs/ocfs2",
        COMMIT + "__ocfs2_flush_truncate_log/ocfs2 ocfs2_truncate_log_worker/ocfs2",
    ),
}
# Nobody of these has what the other waits for.
APART = {
    "two programs that use the position of an open file": (
        "schedule __mutex_lock fdget_pos ksys_read",
        "io_schedule folio_wait_bit_common filemap_read blkdev_read_iter ksys_read",
    ),
    "a freeze and a write to /proc": (
        "schedule percpu_down_write freeze_super do_vfs_ioctl",
        FOR_READING + "__iterate_supers proc_sys_call_handler vfs_write",
    ),
    "two freezes that wait for one superblock": (
        FOR_WRITING + "freeze_super do_vfs_ioctl",
        FOR_WRITING + "super_lock freeze_super do_vfs_ioctl",
    ),
    "two writers of segments that wait": (
        FOR_WRITING + "nilfs_transaction_lock/nilfs2 nilfs_segctor_thread/nilfs2",
        FOR_WRITING + "nilfs_transaction_lock/nilfs2 "
        "nilfs_construct_dsync_segment/nilfs2",
    ),
    "a reader of s_umount and a freeze that waits for writers": (
        "schedule percpu_down_write freeze_super do_vfs_ioctl",
        WAITS_FOR_SUPER,
    ),
    "a folder that another lists, while it waits for it": (
        FOR_WRITING + "do_unlinkat",
        FOR_WRITING + "wrap_directory_iterator iterate_dir",
    ),
}


@pytest.mark.parametrize(("waits", "holds"), PAIRS.values(), ids=PAIRS)
def test_who_has_the_lock(waits: str, holds: str) -> None:
    tasks = Shown("waits", 11, waits), Shown("holds", 12, holds)
    assert joined(*tasks)["waits"] == ("holds", POSSIBLE)


def test_sendfile_starts_a_write_that_a_freeze_keeps_out() -> None:
    """fs/splice.c direct_splice_actor() calls file_start_write() (since 6.8)."""
    waits = "schedule percpu_rwsem_wait __percpu_down_read direct_splice_actor"
    holds = COMMIT + "ext4_freeze/ext4 freeze_super do_vfs_ioctl"
    tasks = Shown("waits", 11, waits), Shown("holds", 12, holds)
    assert "waits" in joined(*tasks)


def test_a_checkpoint_of_f2fs_is_the_only_one() -> None:
    waits = FOR_READING + "fill_zero/f2fs f2fs_fallocate/f2fs"
    holds = (
        "io_schedule_timeout f2fs_wait_on_all_pages/f2fs f2fs_write_checkpoint/f2fs "
        "issue_checkpoint_thread/f2fs"
    )
    tasks = Shown("waits", 11, waits), Shown("holds", 12, holds)
    assert joined(*tasks)["waits"] == ("holds", LIKELY)


@pytest.mark.parametrize(("waits", "holds"), APART.values(), ids=APART)
def test_who_has_it_not(waits: str, holds: str) -> None:
    assert "waits" not in joined(Shown("waits", 11, waits), Shown("holds", 12, holds))


def test_several_that_sync_have_it_together() -> None:
    """fs/super.c iterate_supers(): s_umount is shared."""
    _, syncs = PAIRS["a reader of s_umount and a sync with it"]
    waits, _ = PAIRS["fsconfig(2) and an unmount"]
    tasks = [Shown("mount", 11, waits), *(Shown("sync", n, syncs) for n in (12, 13))]
    assert joined(*tasks)["mount"] == ("sync", POSSIBLE)


def test_of_several_programs_the_waiters_own_has_a_files_lock() -> None:
    """Other rules about the same lock do not count against it."""
    waits, holds = PAIRS["a write and a change of flags"]
    others = [Shown("other", pid, holds) for pid in (13, 14)]
    tasks = Shown("program", 11, waits), Shown("program", 12, holds), *others
    assert joined(*tasks)["program"] == ("program", POSSIBLE)
