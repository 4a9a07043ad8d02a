# SPDX-License-Identifier: GPL-2.0-only
"""file_systems: rules for waits in file systems, except in jbd2."""

from __future__ import annotations

from writestall.classify import named_waits as w
from writestall.classify.rules.form import (
    EVENT,
    FSYNC,
    IO,
    LOCK,
    PAGE,
    TIMER,
    WORK,
    Rule,
    names,
)
from writestall_base import wait_classes as c

# Below these a checkpoint's locks are taken, outside those of a node or block.
_F2FS_MAP = ("f2fs_map_blocks", "f2fs_map_lock", "f2fs_get_block_locked")

# Functions of XFS that wait for its log, and those that wait for something pinned in
# it, which the log's write unpins.
_LOG = ("xlog_*", "xfs_log_*", "_xfs_log_*", "__xfs_log_*")
_PINNED = names(
    "xfs_iunpin* __xfs_iunpin* xfs_buf_wait_unpin xfs_qm_dqunpin_wait xfs_dqunpin_wait"
)
# Those of XFS's functions that take the IOLOCK, and what they take it through.
_XFS_FILE_OPERATIONS = names(
    "xfs_file_* __xfs_file_fallocate xfs_ilock_iocb* xfs_rw_ilock xfs_vn_setattr* "
    "xfs_vn_fiemap xfs_setattr_size xfs_write xfs_read xfs_change_file_space "
    "xfs_ioc_space xfs_reflink_*prep*"
)
XFS_BUFFER = Rule(
    c.DEVICE_IO,
    names(
        "xfs_buf_iowait xfs_buf_submit* __xfs_buf_submit* _xfs_buf_read "
        "xfs_buf_delwri_submit* xfs_bwrite xfs_iowait xfs_buftarg_* xfs_wait_buftarg"
    ),
    "fs/xfs/xfs_buf.c xfs_buf_iowait() (xfs_iowait() in 2.6.32): sleeps until the "
    "buffer's I/O is over; xfs_buftarg_wait() until that of all of them is",
    wait=(EVENT, TIMER),
    bare=True,
)

_RANGES = names(
    "lock_extent lock_extent_bits __lock_extent btrfs_lock_extent* wait_extent_bit "
    "lock_and_cleanup_extent_if_need"
)
_XFS_BUFFERS = ("xfs_buf_lock", "xfs_buf_find*", "_xfs_buf_find", "xfs_buf_get_map")
_NAMED: tuple[Rule, ...] = (
    *(
        Rule(
            c.FS_LOCK,
            _XFS_BUFFERS,
            f"fs/xfs/xfs_buf.c xfs_buf_lock(), for {name}",
            wait=(LOCK,),
            callers=callers,
            bare=True,
            named=named,
        )
        for named, name, callers in (
            (
                w.FREE_SPACE_OF_GROUP,
                "fs/xfs/libxfs/xfs_alloc.c xfs_read_agf()",
                ("xfs_read_agf", "xfs_alloc_read_agf"),
            ),
            (
                w.INODES_OF_GROUP,
                "fs/xfs/libxfs/xfs_ialloc.c xfs_read_agi()",
                ("xfs_read_agi", "xfs_ialloc_read_agi"),
            ),
            (w.BUFFER_OF_XFS, "a transaction's other buffers", ("xfs_*",)),
        )
    ),
    Rule(
        c.FS_LOCK,
        ("xfs_ilock*", "xfs_lock_inodes", "xfs_lock_two_inodes"),
        "fs/xfs/xfs_inode.c xfs_ilock(): called by no file operation itself",
        wait=(LOCK,),
        not_callers=("xfs_ilock_iocb*",),
        by=names(
            "xfs_ilock* xfs_trans_* xfs_iomap_* xfs_*_iomap_begin xfs_bmap* "
            "xfs_map_blocks xfs_free_eofblocks xfs_inactive* xfs_lookup xfs_readdir "
            "xfs_create xfs_remove xfs_rename xfs_setattr_nonsize xfs_lock_inodes "
            "xrep_* xchk_*"
        ),
        named=w.ILOCK_OF_XFS,
    ),
    Rule(
        c.FS_LOCK,
        _RANGES,
        "fs/btrfs/file.c btrfs_direct_read(): a page fault of its own buffer reads "
        "the same file below it",
        callers=("*iov_iter_get_pages*", "*iov_iter_extract_pages*", "fault_in_iov_*"),
        named=w.OWN_RANGE,
    ),
    Rule(
        c.FS_LOCK,
        _RANGES,
        "fs/btrfs/extent-io-tree.c lock_extent(): until EXTENT_LOCKED is clear",
        named=w.RANGE_OF_FILE,
    ),
    Rule(
        c.FS_LOCK,
        names(
            "btrfs_tree_lock* btrfs_tree_read_lock* __btrfs_tree_*lock* "
            "btrfs_lock_root_node btrfs_read_lock_root_node"
        ),
        "fs/btrfs/locking.c btrfs_tree_lock(): the lock of an extent buffer",
        named=w.TREE_BLOCK,
    ),
    Rule(
        c.OTHER,
        ("xfs_ifree", "xfs_ifree_cluster"),
        "fs/xfs/xfs_inode.c xfs_ifree_cluster(): delay(1) until it gets the ILOCK, "
        "with the cluster's buffer locked",
        wait=(TIMER,),
        first=True,
        named=w.FREES_CLUSTER,
    ),
    Rule(
        c.OTHER,
        ("fscrypt_crypt*", "fscrypt_*crypt_*"),
        "fs/crypto/crypto.c fscrypt_crypt_data_unit(): until the driver of the cipher "
        "has done it",
        not_wait=(LOCK,),
        named=w.ENCRYPTS,
    ),
    Rule(
        c.OTHER,
        ("btrfs_rm_dev_replace_blocked",),
        "fs/btrfs/dev-replace.c btrfs_rm_dev_replace_blocked(): until bio_counter is "
        "zero",
        named=w.REPLACES,
    ),
    Rule(
        c.FS_TRANSACTION,
        names(
            "scrub_simple_mirror scrub_simple_stripe scrub_stripe scrub_raid56_parity* "
            "*scrub_blocked_if_needed"
        ),
        "fs/btrfs/scrub.c scrub_blocked_if_needed(), inlined: until scrub_pause_req "
        "is zero",
        not_wait=(LOCK, IO),
        first=True,
        named=w.SCRUB_PAUSED,
    ),
    Rule(
        c.OTHER,
        ("btrfs_bio_counter_inc_blocked",),
        "fs/btrfs/dev-replace.c btrfs_bio_counter_inc_blocked(): while a replace "
        "finishes",
        named=w.KEPT_OUT,
    ),
)

RULES: tuple[Rule, ...] = (
    *_NAMED,
    # XFS.
    Rule(
        c.LOG_SPACE,
        names(
            "xlog_grant_* xlog_regrant_* xfs_log_reserve xfs_log_regrant "
            "xlog_cil_push_background"
        ),
        "fs/xfs/xfs_log.c xlog_grant_head_wait() (xlog_grant_log_space() before 3.4): "
        "below fsync too, which allocates blocks for what it writes and needs space in "
        "the log for that; xfs_log_cil.c: too much of the log waits to be written",
        named=w.ROOM_IN_XFS_LOG,
    ),
    Rule(
        c.FS_LOCK,
        ("xfs_log_commit_cil", "xlog_cil_commit"),
        "fs/xfs/xfs_log_cil.c xlog_cil_commit() (xfs_log_commit_cil() before 5.14): "
        "xc_ctx_lock, which the work that pushes the log holds",
        wait=(LOCK,),
    ),
    Rule(
        c.LOG_SPACE,
        ("xfs_log_commit_cil", "xlog_cil_commit"),
        "fs/xfs/xfs_log_cil.c: else it sleeps in xlog_cil_push_background() (since "
        "5.7), inlined",
        first=True,
    ),
    Rule(
        c.LOG_SPACE,
        (*_LOG, *_PINNED),
        "fs/xfs/xfs_log.c xlog_state_get_iclog_space(), xlog_wait_on_iclog(): xfsaild "
        "and the works of the log write it to make room in it",
        named=w.WRITES_XFS_LOG,
        callers=WORK,
        not_callers=FSYNC,
    ),
    Rule(
        c.LOG_SPACE,
        ("xfs_ail_push_all_sync", "xlog_state_get_iclog_space", "xlog_write*"),
        "fs/xfs/xfs_trans_ail.c, xfs_log.c: until the log is empty, or has a buffer",
        not_callers=FSYNC,
    ),
    Rule(
        c.JOURNAL_COMMIT_WAIT,
        (*_LOG, *_PINNED),
        "fs/xfs/xfs_log.c xfs_log_force(): sleeps until the log is on disk, for fsync, "
        "or to unpin what a task wants to change (xfs_inode_item.c, xfs_buf.c)",
        named=w.WRITES_XFS_LOG,
    ),
    Rule(
        c.FS_LOCK,
        ("xfs_ilock",),
        "fs/xfs/xfs_file.c xfs_file_fsync() (until 5.10, xfs_fsync_seq() since): looks "
        "under the ILOCK whether the inode is in the log; so do ioctls",
        wait=(LOCK,),
        by=("xfs_file_fsync", "xfs_file_*ioctl"),
        bare=True,
    ),
    Rule(
        c.INODE_LOCK,
        ("xfs_ilock", "xfs_rw_ilock"),
        "fs/xfs/xfs_file.c: xfs_ilock() called by a file operation itself takes the "
        "IOLOCK, which is i_rwsem since 4.10 (commit 65523218124d); called by anything "
        "below one (xfs_trans_alloc_inode(), xfs_update_prealloc_flags()) the ILOCK",
        wait=(LOCK,),
        by=_XFS_FILE_OPERATIONS,
        bare=True,
    ),
    XFS_BUFFER,
    Rule(
        c.PAGE_WRITEBACK,
        ("xfs_flush_inodes*", "xfs_ioend_wait", "vn_iowait"),
        "fs/xfs/xfs_super.c xfs_flush_inodes() has all inodes written by a work; "
        "xfs_aops.c xfs_ioend_wait() (before 3.2) waits for pages' ends",
    ),
    # btrfs.
    Rule(
        c.PAGE_WRITEBACK,
        ("lock_extent_buffer_for_io", "*wait_on_extent_buffer_writeback"),
        "fs/btrfs/extent_io.c EXTENT_BUFFER_WRITEBACK is a tree block's PG_writeback",
    ),
    Rule(
        c.PAGE_WRITEBACK,
        names(
            "btrfs_start_ordered_extent* btrfs_wait_ordered_* "
            "btrfs_run_ordered_extent_work"
        ),
        "fs/btrfs/ordered-data.c: an ordered extent is data under writeback",
        named=w.ORDERED_DATA,
    ),
    Rule(
        c.FS_LOCK,
        names(
            "btrfs_tree_lock* btrfs_tree_read_lock* __btrfs_tree_*lock* "
            "btrfs_lock_root_node btrfs_read_lock_root_node lock_extent "
            "lock_extent_bits __lock_extent btrfs_lock_extent* wait_extent_bit "
            "lock_and_cleanup_extent_if_need btrfs_drew_*"
        ),
        "fs/btrfs/locking.c: a tree block's lock; extent-io-tree.c: a range's lock",
    ),
    Rule(
        c.FS_TRANSACTION,
        ("btrfs_commit_transaction",),
        "fs/btrfs/transaction.c btrfs_commit_transaction(): with no function of "
        "waiting further in, it sleeps on writer_wait until num_writers is 1, or on "
        "pending_wait until no ordered extent is pending",
        not_wait=(LOCK, IO, PAGE),
        first=True,
        named=w.JOINED_TRANSACTION,
    ),
    Rule(
        c.FS_TRANSACTION,
        ("btrfs_wait_on_delayed_iputs",),
        "fs/btrfs/inode.c btrfs_wait_on_delayed_iputs()",
        first=True,
        named=w.DELAYED_IPUTS,
    ),
    Rule(
        c.FS_TRANSACTION,
        ("write_all_supers", "wait_dev_supers", "barrier_all_devices"),
        "fs/btrfs/disk-io.c write_all_supers(): writes and flushes each device",
        not_wait=(LOCK,),
        first=True,
        named=w.WRITES_SUPERS,
    ),
    Rule(
        c.FS_TRANSACTION,
        ("try_flush_qgroup",),
        "fs/btrfs/qgroup.c try_flush_qgroup(): on qgroup_flush_wait while another task "
        "writes the data of the subvolume",
        first=True,
        named=w.QGROUP_FLUSH,
    ),
    Rule(
        c.FS_TRANSACTION,
        names(
            "handle_reserve_ticket wait_reserve_ticket __reserve_bytes "
            "reserve_metadata_bytes btrfs_reserve_*"
        ),
        "fs/btrfs/space-info.c handle_reserve_ticket(): until flush_space() has freed "
        "enough, by writing data and committing",
        not_wait=(LOCK,),
        named=w.SPACE_OF_BTRFS,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        ("start_delalloc_inodes", "btrfs_start_delalloc_*"),
        "fs/btrfs/inode.c start_delalloc_inodes(): until btrfs_run_delalloc_work() of "
        "each inode has run",
        wait=(EVENT,),
        first=True,
        named=w.DELAYED_DATA,
    ),
    Rule(
        c.FS_TRANSACTION,
        names(
            "start_transaction btrfs_*_transaction* join_transaction "
            "wait_current_trans* wait_for_commit btrfs_wait_for_commit btrfs_sync_log "
            "btrfs_throttle_* "
            "btrfs_async_run_delayed_* btrfs_balance_delayed_items "
            "btrfs_scrub_pause *scrub_blocked_if_needed scrub_pause_off "
            "start_log_trans transaction_kthread"
        ),
        "fs/btrfs/transaction.c, tree-log.c: a transaction or its commit; scrub.c: "
        "scrub pauses for a commit",
    ),
    # f2fs.
    Rule(
        c.FS_TRANSACTION,
        ("f2fs_*",),
        "fs/f2fs/checkpoint.c block_operations() takes cp_rwsem for writing; below it "
        "f2fs_lock_op(), by iput() of an inode, sleeps for ever",
        wait=(LOCK,),
        callers=("f2fs_sync_node_pages", "f2fs_sync_dirty_inodes"),
        # With the option data_flush, outside a checkpoint.
        not_callers=("f2fs_balance_fs_bg",),
        first=True,
        named=w.OWN_CHECKPOINT,
    ),
    Rule(
        c.FS_TRANSACTION,
        names(
            "f2fs_balance_fs* f2fs_issue_checkpoint f2fs_write_checkpoint f2fs_sync_fs "
            "f2fs_lock_op f2fs_do_sync_file f2fs_wait_on_all_pages* f2fs_gc "
            "block_operations do_checkpoint write_checkpoint __write_checkpoint_sync "
            "__checkpoint_and_complete_reqs issue_checkpoint_thread"
        ),
        "fs/f2fs/checkpoint.c: cp_rwsem, gc_lock and the checkpoint's own waits",
        not_callers=("__filemap_fdatawait_range",),
    ),
    Rule(
        c.FS_TRANSACTION,
        _F2FS_MAP,
        "fs/f2fs/data.c f2fs_map_lock(): cp_rwsem, or node_change where blocks are "
        "only reserved; block_operations() of a checkpoint holds both against it",
        wait=(LOCK,),
        bare=True,
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
    Rule(
        c.FS_TRANSACTION,
        ("f2fs_down_*",),
        "fs/f2fs/f2fs.h f2fs_down_write() (since 5.18), inlined from there: these take "
        "gc_lock, cp_global_sem or cp_rwsem themselves",
        wait=(LOCK,),
        by=names(
            "f2fs_issue_checkpoint f2fs_write_checkpoint f2fs_balance_fs* "
            "f2fs_lock_all f2fs_sync_fs f2fs_do_sync_file gc_thread_func "
            "issue_checkpoint_thread __write_checkpoint_sync"
        ),
    ),
    Rule(
        c.FS_TRANSACTION,
        names(
            "f2fs_create f2fs_link f2fs_unlink f2fs_symlink f2fs_mkdir f2fs_mknod "
            "f2fs_rename* f2fs_cross_rename f2fs_new_inode f2fs_do_truncate_blocks "
            "f2fs_convert_inline_inode __f2fs_tmpfile f2fs_setxattr f2fs_evict_inode "
            "f2fs_do_collapse fill_zero f2fs_need_inode_block_update"
        ),
        "fs/f2fs/f2fs.h f2fs_lock_op(), inlined into these: cp_rwsem; node.c "
        "f2fs_need_inode_block_update(): node_write, which a checkpoint takes, too",
        wait=(LOCK,),
        first=True,
        bare=True,
    ),
    Rule(
        c.DEVICE_IO,
        ("nilfs_segbuf_wait*", "nilfs_wait_on_logs"),
        "fs/nilfs2/segbuf.c nilfs_segbuf_wait(): until the segment's bios are done",
    ),
    # OpenZFS.
    Rule(
        c.DIRTY_THROTTLE,
        ("dmu_tx_wait", "dmu_tx_delay"),
        "OpenZFS module/zfs/dmu_tx.c dmu_tx_wait(): too much data is dirty; it sleeps "
        "until some is written (dp_spaceavail_cv), or as long as dmu_tx_delay() says",
        first=True,
        named=w.ZFS_THROTTLE,
    ),
    Rule(
        c.MEMORY,
        ("arc_wait_for_eviction", "arc_tempreserve_space", "arc_memory_throttle"),
        "OpenZFS module/zfs/arc.c arc_wait_for_eviction(): until the cache has shrunk",
        first=True,
    ),
    # File systems with transactions of their own.
    Rule(
        c.FS_TRANSACTION,
        names(
            "nilfs_transaction_* nilfs_segctor_* nilfs_construct_* nilfs_flush_segment "
            "do_journal_begin_r journal_begin queue_log_writer let_transaction_grow "
            "txBegin txBeginAnon txLockAlloc ocfs2_start_trans gfs2_trans_begin "
            "__gfs2_trans_begin txg_wait_* txg_quiesce* dmu_tx_assign ubifs_run_commit "
            "ubifs_bg_thread bch2_trans_commit* __bch2_trans_commit "
            "bch2_btree_update_start"
        ),
        "fs/nilfs2/segment.c, fs/reiserfs/journal.c, fs/jfs/jfs_txnmgr.c, "
        "fs/ocfs2/journal.c, fs/gfs2/trans.c, fs/ubifs/commit.c, "
        "fs/bcachefs/btree_trans_commit.c, OpenZFS module/zfs/txg.c",
        not_callers=("txg_sync_thread",),
    ),
    Rule(
        c.JOURNAL_COMMIT_WAIT,
        names(
            "zil_commit* lmGroupCommit jfs_flush_journal gfs2_log_flush "
            "wait_for_journal_commit bch2_journal_flush* bch2_journal_meta"
        ),
        "OpenZFS module/zfs/zil.c, fs/jfs/jfs_logmgr.c, fs/gfs2/log.c, "
        "fs/bcachefs/journal.c: sleeps until the log is on disk",
        not_callers=("txg_sync_thread",),
    ),
    Rule(
        c.LOG_SPACE,
        ("gfs2_log_reserve", "gfs2_log_try_reserve", "bch2_journal_res_get*"),
        "fs/gfs2/log.c, fs/bcachefs/journal.c: sleeps until log blocks are free",
        named=w.ROOM_IN_LOG,
    ),
    # The network file systems' pages.
    Rule(
        c.PAGE_WRITEBACK,
        names(
            "nfs_wait_on_request* nfs_lock_and_join_requests nfs_page_group_lock* "
            "nfs_wb_*"
        ),
        "fs/nfs/pagelist.c nfs_wait_on_request(): the page's write is on the wire",
        wait=(PAGE, IO),
        bare=True,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        ("wait_on_commit", "__nfs_commit_inode", "nfs_commit_inode"),
        "fs/nfs/write.c wait_on_commit(): until the server has it on disk",
    ),
    Rule(
        c.DEVICE_IO,
        ("ceph_osdc_wait_request", "wait_request_timeout"),
        "fs/ceph/file.c: ceph_osdc_wait_request() until the store has done the I/O",
    ),
)
