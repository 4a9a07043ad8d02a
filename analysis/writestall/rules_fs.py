# SPDX-License-Identifier: GPL-2.0-only
"""rules_fs: rules for waits inside file systems other than their journal in jbd2."""

from __future__ import annotations

from writestall import classes as c
from writestall.rule import EVENT, FSYNC, IO, LOCK, PAGE, Rule

# File operations that take the inode's own lock (i_rwsem; i_mutex before 4.7).
_FILE_OPERATIONS = (
    "*_write_iter",
    "*_read_iter",
    "*_file_aio_write",
    "*_file_write",
    "*_file_buffered_write",
    "*_file_buffered_aio_write",
    "*_file_dio_*write*",
    "*_file_llseek*",
    "*_file_fsync",
    "*_sync_file",
    "*_fallocate",
    "vfs_fsync*",
    "do_truncate",
    "do_sys_ftruncate",
    "notify_change",
    "chown_common",
    "chmod_common",
    "utimes_common",
    "vfs_utimes",
    "vfs_setxattr",
    "vfs_removexattr",
    "iterate_dir",
    "vfs_readdir",
    "lookup_slow",
    "__lookup_slow",
    "do_lookup",
    "walk_component",
    "do_last",
    "open_last_lookups",
    "path_openat",
    "link_path_walk",
    "filename_create",
    "start_dirop",
    "lock_rename*",
    "vfs_unlink",
    "do_unlinkat",
    "do_rmdir",
    "vfs_rmdir",
    "vfs_rename",
    "lock_two_nondirectories",
    "btrfs_inode_lock",
    "btrfs_buffered_write",
    "btrfs_direct_write",
    "nfs_start_io_*",
    "ceph_start_io_*",
)

# Below these, outside a node's and a block's own locks, a checkpoint's are taken.
_F2FS_MAP = ("f2fs_map_blocks", "f2fs_map_lock", "f2fs_get_block_locked")

RULES: tuple[Rule, ...] = (
    # XFS.
    Rule(
        c.LOG_SPACE,
        ("xlog_grant_head_*", "xfs_log_reserve", "xfs_log_regrant"),
        "fs/xfs/xfs_log.c xlog_grant_head_wait(): below fsync too, which allocates "
        "blocks for what it writes and needs space in the log for that",
    ),
    Rule(
        c.JOURNAL_COMMIT_WAIT,
        ("xlog_*", "xfs_log_force*", "_xfs_log_force*", "__xfs_log_force*"),
        "fs/xfs/xfs_log.c xlog_wait_on_iclog(): below fsync, the log's write",
        callers=FSYNC,
    ),
    Rule(
        c.LOG_SPACE,
        ("xlog_*", "xfs_log_*", "_xfs_log_*", "__xfs_log_*", "xfs_ail_push_all_sync"),
        "fs/xfs/xfs_log.c xlog_grant_head_wait(): sleeps until the log's tail moves; "
        "xfsaild and the CIL push wait in xlog_* to move it",
    ),
    Rule(
        c.INODE_LOCK,
        ("xfs_ilock*", "xfs_rw_ilock", "xfs_ilock_iocb*"),
        "fs/xfs/xfs_file.c: xfs_ilock() of a file operation takes the IOLOCK, which is "
        "i_rwsem since 4.10 (commit 65523218124d)",
        wait=(LOCK,),
        callers=("xfs_file_*", "xfs_vn_setattr*", "xfs_setattr_size"),
        not_callers=("*_get_blocks", "*iomap_begin*", "iomap_*", "xfs_*_update_time"),
    ),
    Rule(
        c.DEVICE_IO,
        (
            "xfs_buf_iowait",
            "xfs_buf_submit*",
            "__xfs_buf_submit*",
            "_xfs_buf_read",
            "xfs_buf_delwri_submit*",
            "xfs_bwrite",
        ),
        "fs/xfs/xfs_buf.c xfs_buf_iowait(): sleeps until the buffer's I/O is over",
        wait=(EVENT,),
    ),
    # btrfs.
    Rule(
        c.PAGE_WRITEBACK,
        (
            "lock_extent_buffer_for_io",
            "*wait_on_extent_buffer_writeback",
            "btrfs_start_ordered_extent*",
            "btrfs_wait_ordered_*",
        ),
        "fs/btrfs/extent_io.c EXTENT_BUFFER_WRITEBACK is a tree block's PG_writeback; "
        "fs/btrfs/ordered-data.c: an ordered extent is data under writeback",
    ),
    Rule(
        c.FS_LOCK,
        (
            "btrfs_tree_lock*",
            "btrfs_tree_read_lock*",
            "__btrfs_tree_*lock*",
            "btrfs_lock_root_node",
            "btrfs_read_lock_root_node",
            "lock_extent",
            "lock_extent_bits",
            "__lock_extent",
            "btrfs_lock_extent*",
            "wait_extent_bit",
            "lock_and_cleanup_extent_if_need",
        ),
        "fs/btrfs/locking.c: a tree block's lock; extent-io-tree.c: a range's lock",
    ),
    Rule(
        c.FS_TRANSACTION,
        (
            "start_transaction",
            "btrfs_*_transaction*",
            "join_transaction",
            "wait_current_trans*",
            "wait_for_commit",
            "wait_for_writer",
            "btrfs_wait_for_commit",
            "btrfs_sync_log",
            "wait_log_commit",
            "__reserve_bytes",
            "reserve_metadata_bytes",
            "handle_reserve_ticket",
            "wait_reserve_ticket",
            "btrfs_reserve_*",
            "btrfs_throttle_*",
            "btrfs_async_run_delayed_*",
        ),
        "fs/btrfs/transaction.c, tree-log.c, space-info.c: a transaction, its commit, "
        "or the space that only a commit frees",
    ),
    # f2fs.
    Rule(
        c.FS_TRANSACTION,
        (
            "f2fs_balance_fs*",
            "f2fs_issue_checkpoint",
            "f2fs_write_checkpoint",
            "f2fs_sync_fs",
            "f2fs_lock_op",
            "f2fs_do_sync_file",
            "f2fs_wait_on_all_pages*",
            "f2fs_gc",
            "block_operations",
            "do_checkpoint",
            "write_checkpoint",
        ),
        "fs/f2fs/checkpoint.c: cp_rwsem and the checkpoint's own waits",
        not_callers=("__filemap_fdatawait_range",),
    ),
    Rule(
        c.FS_TRANSACTION,
        _F2FS_MAP,
        "fs/f2fs/data.c f2fs_map_lock(): cp_rwsem, or node_change where blocks are "
        "only reserved; block_operations() of a checkpoint holds both against it",
        wait=(LOCK,),
    ),
    Rule(
        c.FS_TRANSACTION,
        ("f2fs_down_*",),
        "fs/f2fs/checkpoint.c f2fs_down_read_trace() (7.x): the same locks, taken "
        "through a function; below a node's or a block's own they are others",
        wait=(LOCK,),
        callers=(*_F2FS_MAP, "f2fs_lock_op", "block_operations"),
        not_callers=("f2fs_get_dnode_of_data", "*f2fs_get_node_info", "*_data_block"),
    ),
    # File systems with transactions of their own.
    Rule(
        c.FS_TRANSACTION,
        (
            "nilfs_transaction_*",
            "nilfs_segctor_*",
            "nilfs_construct_*",
            "do_journal_begin_r",
            "journal_begin",
            "queue_log_writer",
            "txBegin",
            "txBeginAnon",
            "ocfs2_start_trans",
            "gfs2_trans_begin",
            "__gfs2_trans_begin",
            "txg_wait_*",
            "dmu_tx_wait",
            "dmu_tx_assign",
        ),
        "fs/nilfs2/segment.c, fs/reiserfs/journal.c, fs/jfs/jfs_txnmgr.c, "
        "fs/ocfs2/journal.c, fs/gfs2/trans.c, OpenZFS module/zfs/txg.c",
    ),
    Rule(
        c.JOURNAL_COMMIT_WAIT,
        ("zil_commit*", "lmGroupCommit", "gfs2_log_flush", "wait_for_journal_commit"),
        "OpenZFS module/zfs/zil.c, fs/jfs/jfs_logmgr.c, fs/gfs2/log.c: sleeps until "
        "the log is on disk",
    ),
    Rule(
        c.LOG_SPACE,
        ("gfs2_log_reserve", "gfs2_log_try_reserve"),
        "fs/gfs2/log.c: sleeps until log blocks are free",
    ),
    # The network file systems' pages.
    Rule(
        c.PAGE_WRITEBACK,
        ("nfs_wait_on_request", "nfs_lock_and_join_requests", "nfs_wb_*"),
        "fs/nfs/pagelist.c nfs_wait_on_request(): the page's write is on the wire",
        wait=(PAGE, IO),
    ),
    Rule(
        c.PAGE_WRITEBACK,
        ("wait_on_commit", "__nfs_commit_inode", "nfs_commit_inode"),
        "fs/nfs/write.c wait_on_commit(): until the server has it on disk",
    ),
    Rule(
        c.FS_LOCK,
        ("zfs_rangelock_*",),
        "OpenZFS module/zfs/zfs_rlock.c: a lock on a range of a file",
    ),
    # Locks: of a file operation the inode's, of anything else the file system's own.
    Rule(
        c.INODE_LOCK,
        _FILE_OPERATIONS,
        "include/linux/fs.h inode_lock(): i_rwsem since 4.7 (commit 9902af79c01a), "
        "i_mutex before; taken by the file operation itself",
        wait=(LOCK,),
    ),
    Rule(
        c.FS_LOCK,
        tuple(
            f"{mark}{fs}_*"
            for fs in (
                "ext[234] xfs btrfs f2fs jbd2 mb_cache nfs nfs4 fuse ceph ocfs2 gfs2 "
                "cifs ovl nilfs dquot reiserfs jfs fat exfat udf".split()
            )
            for mark in ("", "_", "__")
        ),
        "a rwsem, mutex or semaphore taken by a function of the file system that is no "
        "file operation: i_data_sem in fs/ext4/inode.c ext4_map_blocks(), the ILOCK in "
        "fs/xfs/xfs_inode.c, a buffer's semaphore in fs/xfs/xfs_buf.c",
        wait=(LOCK,),
    ),
)
