# SPDX-License-Identifier: GPL-2.0-only
"""transactions: who ends waits for transactions and checkpoints of file systems."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_BTRFS_COMMIT = names("btrfs_commit_transaction")
_BTRFS_FOLLOWS = names("wait_for_commit")
_BTRFS_TICKETS = names(
    "wait_reserve_ticket handle_reserve_ticket __reserve_bytes reserve_metadata_bytes "
    "btrfs_reserve_*"
)
_BTRFS_DATA = "btrfs_reserve_data_bytes btrfs_alloc_data_chunk_ondemand"
_BTRFS_NOT_JOINED = names(
    "start_transaction join_transaction wait_current_trans* wait_for_commit "
    "btrfs_wait_for_commit btrfs_commit_transaction* btrfs_throttle "
    "btrfs_qgroup_wait_for_completion"
)
# Given a transaction's handle, or run after btrfs_join_transaction().
_BTRFS_JOINED = names(
    "btrfs_finish_one_ordered btrfs_finish_ordered_io btrfs_insert_* "
    "btrfs_update_inode* btrfs_drop_extent* insert_reserved_file_extent "
    "btrfs_cow_block __btrfs_cow_block btrfs_force_cow_block btrfs_del_items "
    "btrfs_alloc_tree_block btrfs_unlink_inode btrfs_truncate_inode_items "
    "btrfs_quota_disable btrfs_quota_enable btrfs_remove_qgroup btrfs_create_qgroup "
    "btrfs_run_delayed_refs __btrfs_run_delayed_refs btrfs_sync_log"
)
# Open a transaction themselves, but sleep before that as well.
_BTRFS_PERHAPS_JOINED = names(
    "btrfs_create btrfs_mkdir btrfs_mknod btrfs_symlink btrfs_link btrfs_unlink "
    "btrfs_rmdir btrfs_rename* btrfs_tmpfile btrfs_create_new_inode btrfs_new_inode "
    "btrfs_truncate btrfs_setattr btrfs_evict_inode btrfs_create_subvol "
    "btrfs_dirty_inode"
)
# fs/btrfs/extent-io-tree.c: who waits for a range's lock, and who holds one.
BTRFS_RANGE_WAITING = (
    "lock_extent* __lock_extent* wait_extent_bit btrfs_lock_extent* "
    "lock_and_cleanup_extent_if_need"
)
BTRFS_RANGE_WAITS = names(BTRFS_RANGE_WAITING)
BTRFS_RANGE_HOLDERS = names(
    "extent_fiemap extent_readahead extent_readpages btrfs_readahead btrfs_read_folio "
    "btrfs_clone* btrfs_finish_one_ordered btrfs_finish_ordered_io btrfs_truncate "
    "btrfs_cont_expand btrfs_punch_hole* btrfs_dio_iomap_begin run_delalloc_nocow "
    "btrfs_get_blocks_direct* btrfs_buffered_write btrfs_page_mkwrite "
    "btrfs_invalidate_folio btrfs_evict_inode btrfs_zero_range "
    "btrfs_replace_file_extents btrfs_prealloc_file_range*"
)
# fs/btrfs/file.c btrfs_buffered_write(): what it does before it locks the range.
BTRFS_BEFORE_RANGE = (
    "btrfs_check_data_free_space btrfs_delalloc_reserve_* btrfs_check_nocow_lock "
    "btrfs_write_check balance_dirty_pages*"
)
_SCRUB_PAUSES = names(
    "*scrub_blocked_if_needed scrub_pause_off scrub_simple_mirror scrub_simple_stripe "
    "scrub_stripe scrub_raid56_parity*"
)
_BTRFS_SYNC_LOG = names("btrfs_sync_log")
_BTRFS_LOG_WAIT = names("wait_log_commit start_log_trans")
_F2FS_CHECKPOINTS = (
    "f2fs_write_checkpoint write_checkpoint block_operations __write_checkpoint_sync "
    "__checkpoint_and_complete_reqs issue_checkpoint_thread do_checkpoint"
)
_F2FS_CHECKPOINT = names(_F2FS_CHECKPOINTS)
_F2FS_OPERATION = names(
    "f2fs_map_blocks f2fs_create f2fs_mkdir f2fs_unlink f2fs_rename* f2fs_new_inode "
    "f2fs_do_write_data_page f2fs_do_truncate_blocks f2fs_convert_inline_inode"
)
# congestion_wait() until 5.16, f2fs_io_schedule_timeout() since, mostly inlined.
F2FS_PAUSES = names(
    "congestion_wait* f2fs_io_schedule_timeout f2fs_write_raw_pages "
    "f2fs_write_multi_pages"
)
_TXG_SYNC = names("txg_sync_thread")
_THREADS = names(
    "nilfs_segctor_thread nilfs_segctor_construct gfs2_logd jfs_lazycommit jfs_sync "
    "ubifs_bg_thread do_commit ocfs2_commit_thread flush_async_commits do_journal_end "
    "bch2_journal_reclaim_thread bch2_journal_write_work"
)
# fs/nilfs2/: these call nilfs_transaction_begin().
_NILFS_WAITS = names(
    "nilfs_transaction_begin nilfs_transaction_lock nilfs_ioctl nilfs_ioctl_*"
)
_NILFS_OPERATION = names(
    "nilfs_create nilfs_mknod nilfs_symlink nilfs_link nilfs_mkdir nilfs_unlink "
    "nilfs_rmdir nilfs_rename nilfs_setattr nilfs_truncate nilfs_write_begin "
    "nilfs_dirty_inode nilfs_evict_inode nilfs_page_mkwrite nilfs_get_block"
)
# fs/gfs2/: these call gfs2_trans_begin().
_GFS2_OPERATION = names(
    "__gfs2_fallocate gfs2_fallocate adjust_fs_space alloc_dinode do_gfs2_set_flags "
    "do_grow do_sync ea_* evict_linked_inode gfs2_ail_empty_gl gfs2_create_inode "
    "gfs2_dinode_dealloc gfs2_dirty_inode gfs2_exchange gfs2_fitrim "
    "gfs2_iomap_begin_write gfs2_journaled_truncate* gfs2_link gfs2_page_mkwrite "
    "gfs2_rename gfs2_set_dqblk gfs2_setattr_simple gfs2_statfs_sync gfs2_unlink "
    "gfs2_write_jdata_batch leaf_dealloc link_dinode punch_hole setattr_chown "
    "sweep_bh_for_rgrps trunc_*"
)
_F2FS_GC = names("f2fs_gc do_garbage_collect gc_thread_func")

_CACHING = perhaps(
    "it reads in which space of a block group is free",
    "fs/btrfs/block-group.c btrfs_wait_block_group_cache_progress() waits for "
    "caching_thread()",
    names("caching_thread"),
    lock="the free space of a btrfs block group (caching_ctl)",
    caller=names("btrfs_wait_block_group_cache_* wait_block_group_cache_*"),
    any_right=True,
)
_IPUTS = perhaps(
    "it frees the inodes whose last reference is gone",
    "fs/btrfs/inode.c btrfs_wait_on_delayed_iputs(): until nr_delayed_iputs is zero, "
    "which btrfs_run_delayed_iputs() counts down",
    names("btrfs_run_delayed_iputs run_delayed_iput_locked"),
    lock="nr_delayed_iputs of btrfs",
    caller=names("btrfs_wait_on_delayed_iputs"),
    any_right=True,
)
_GFS2_BEGUN = perhaps(
    "it has begun a transaction, which the flush of the log waits for",
    "fs/gfs2/trans.c __gfs2_trans_begin() holds sd_log_flush_lock for reading "
    "until gfs2_trans_end(); log.c gfs2_log_flush() takes it to write",
    _GFS2_OPERATION,
    lock="sd_log_flush_lock of gfs2",
    not_shows=names("*gfs2_trans_begin gfs2_log_flush"),
    caller=names("__gfs2_trans_begin gfs2_log_flush gfs2_logd"),
    any_right=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.JOURNAL_COMMIT_WAIT: (_GFS2_BEGUN,),
    c.OTHER: (
        _CACHING,
        _IPUTS,
        Holder(
            "it inactivates inodes",
            "fs/xfs/xfs_icache.c xfs_inodegc_flush(), xfs_inodegc_queue(), below "
            "fs/inode.c destroy_inode(): they wait for xfs_inodegc_worker()",
            names("xfs_inodegc_worker"),
            lock="the inactivation of inodes of XFS (inodegc)",
            any_right=True,
            caller=names(
                "xfs_inodegc_* flush_work __flush_work flush_workqueue "
                "__flush_workqueue"
            ),
            of=names(
                "xfs_inodegc_flush xfs_inodegc_queue xfs_inodegc_push destroy_inode "
                "xfs_fs_destroy_inode"
            ),
            itself=True,
        ),
    ),
    c.FS_LOCK: (_CACHING,),
    c.FS_TRANSACTION: (
        _CACHING,
        _IPUTS,
        Holder(
            "it makes room",
            "fs/btrfs/space-info.c wait_reserve_ticket() waits for flush_space() of "
            "the reclaim work",
            names("flush_space btrfs_async_reclaim_* btrfs_preempt_reclaim_*"),
            lock="a ticket for space of btrfs",
            not_shows=names("btrfs_async_reclaim_data_space"),
            of=_BTRFS_TICKETS,
            not_of=names(f"flush_space {_BTRFS_DATA}"),
        ),
        Holder(
            "it makes room for data",
            "fs/btrfs/space-info.c btrfs_async_reclaim_data_space(): since 5.9 tickets "
            "for data have a work of their own",
            names("btrfs_async_reclaim_data_space"),
            lock="a ticket for space for data of btrfs",
            of=names(_BTRFS_DATA),
        ),
        perhaps(
            "it writes the data of the subvolume, for a quota group",
            "fs/btrfs/qgroup.c try_flush_qgroup(): BTRFS_ROOT_QGROUP_FLUSHING while "
            "one task calls btrfs_start_delalloc_snapshot() and "
            "btrfs_wait_ordered_extents()",
            names("try_flush_qgroup"),
            lock="qgroup_flush_wait of a btrfs subvolume",
            caller=names("try_flush_qgroup"),
            past=True,
        ),
        # Delayed references are run by a work, no commit (fs/btrfs/extent-tree.c).
        Holder(
            "it commits the transaction",
            "fs/btrfs/transaction.c wait_current_trans(), wait_for_commit(): until the "
            "commit is done, whoever runs it",
            _BTRFS_COMMIT,
            lock="the commit of a btrfs transaction",
            not_shows=_BTRFS_FOLLOWS,
            caller=names(
                "start_transaction join_transaction wait_current_trans* "
                "wait_for_commit btrfs_wait_for_commit wait_reserve_ticket "
                "handle_reserve_ticket"
            ),
        ),
        perhaps(
            "it has joined the transaction, and the commit waits for all who have",
            "fs/btrfs/transaction.c btrfs_commit_transaction() waits on writer_wait "
            "until num_writers is 1",
            _BTRFS_JOINED,
            lock="num_writers of a btrfs transaction",
            not_shows=_BTRFS_NOT_JOINED,
            caller=_BTRFS_COMMIT,
            any_right=True,
            one_waits=True,
        ),
        perhaps(
            "it may have joined the transaction, and the commit waits for all who have",
            "fs/btrfs/inode.c btrfs_create(), btrfs_unlink(): they work between "
            "btrfs_start_transaction() and btrfs_end_transaction()",
            _BTRFS_PERHAPS_JOINED,
            lock="num_writers of a btrfs transaction",
            not_shows=_BTRFS_NOT_JOINED,
            not_in=(c.INODE_LOCK, c.PAGE_LOCK),
            caller=_BTRFS_COMMIT,
            any_right=True,
            one_waits=True,
        ),
        perhaps(
            "it ends data that the commit waits for",
            "fs/btrfs/transaction.c btrfs_commit_transaction() waits until "
            "pending_ordered is 0, that is for btrfs_finish_ordered_io()",
            names("btrfs_finish_one_ordered btrfs_finish_ordered_io"),
            lock="pending_ordered of a btrfs transaction",
            caller=_BTRFS_COMMIT,
            any_right=True,
            one_waits=True,
        ),
        perhaps(
            "its commit has paused scrub",
            "fs/btrfs/scrub.c __scrub_blocked_if_needed(): from btrfs_scrub_pause() to "
            "btrfs_scrub_continue() in btrfs_commit_transaction()",
            _BTRFS_COMMIT,
            lock="scrub_pause_req of btrfs",
            caller=_SCRUB_PAUSES,
        ),
        perhaps(
            "it scrubs, and the commit waits until it has paused or stopped",
            "fs/btrfs/scrub.c btrfs_scrub_pause(), btrfs_scrub_cancel()",
            names("btrfs_scrub_dev scrub_enumerate_chunks"),
            lock="scrubs of btrfs under way (scrubs_running)",
            caller=names("btrfs_scrub_pause btrfs_scrub_cancel*"),
            any_right=True,
        ),
        perhaps(
            "it has allocated a chunk, and its transaction has not ended",
            "fs/btrfs/block-group.c btrfs_chunk_alloc() repeats while another task "
            "allocates one, until btrfs_create_pending_block_groups() has returned",
            names(
                "btrfs_create_pending_block_groups btrfs_create_chunk "
                "__btrfs_alloc_chunk btrfs_alloc_chunk check_system_chunk"
            ),
            lock="the allocation of a chunk of btrfs",
            of=names("btrfs_chunk_alloc"),
        ),
        perhaps(
            "it writes the log tree",
            "fs/btrfs/tree-log.c wait_log_commit(): one task commits a log tree, the "
            "others wait for it",
            _BTRFS_SYNC_LOG,
            lock="a log tree of btrfs",
            not_shows=_BTRFS_LOG_WAIT,
            caller=_BTRFS_LOG_WAIT,
        ),
        Holder(
            "it writes the checkpoint",
            "fs/f2fs/checkpoint.c block_operations() keeps all operations out",
            _F2FS_CHECKPOINT,
            lock="the lock of f2fs's checkpoint (cp_rwsem)",
            of=names("f2fs_*"),
            # f2fs_lock_op() takes it for reading.
            not_of=names(f"{_F2FS_CHECKPOINTS} *down_write*"),
            not_caller=F2FS_PAUSES,
        ),
        perhaps(
            "it writes or awaits the checkpoint",
            "fs/f2fs/compress.c f2fs_write_raw_pages(): f2fs_trylock_op() fails while "
            "block_operations() wants cp_rwsem",
            _F2FS_CHECKPOINT,
            lock="the lock of f2fs's checkpoint (cp_rwsem), tried again",
            of=names("f2fs_*"),
            not_of=_F2FS_CHECKPOINT,
            caller=F2FS_PAUSES,
        ),
        perhaps(
            "it changes quotas in an operation that the checkpoint waits for",
            "fs/f2fs/file.c f2fs_setattr(): dquot_transfer() under f2fs_lock_op()",
            names("f2fs_setattr"),
            lock="the lock of f2fs's checkpoint (cp_rwsem)",
            also=names("dquot_transfer __dquot_transfer f2fs_transfer_project_quota"),
            of=names("block_operations"),
            not_in=(c.FS_TRANSACTION,),
        ),
        perhaps(
            "it collects garbage, for the end of which writers wait",
            "fs/f2fs/segment.c f2fs_balance_fs(): io_schedule() on fggc_wq, which "
            "gc_thread_func() wakes (since 5.13, mount option gc_merge)",
            names("gc_thread_func"),
            lock="a garbage collection of f2fs (fggc_wq)",
            caller=names("f2fs_balance_fs"),
            of=names("io_schedule*"),
        ),
        perhaps(
            "it collects garbage and holds gc_lock",
            "fs/f2fs/segment.c f2fs_balance_fs(), fs/f2fs/gc.c gc_thread_func()",
            _F2FS_GC,
            lock="the lock of f2fs's garbage collection (gc_lock)",
            not_of=names("io_schedule*"),
            not_in=(c.FS_TRANSACTION,),
            caller=names(
                "f2fs_balance_fs* f2fs_gc gc_thread_func __write_checkpoint_sync "
                "__checkpoint_and_complete_reqs f2fs_issue_checkpoint f2fs_sync_fs "
                "f2fs_ioc_gc* f2fs_ioc_flush_device f2fs_down_write"
            ),
        ),
        perhaps(
            "it is in an operation that the checkpoint waits for",
            "fs/f2fs/checkpoint.c block_operations() takes cp_rwsem, which "
            "f2fs_lock_op() holds",
            _F2FS_OPERATION,
            lock="the lock of f2fs's checkpoint (cp_rwsem)",
            caller=names(
                "block_operations f2fs_lock_all f2fs_write_checkpoint write_checkpoint"
            ),
            not_in=(c.FS_TRANSACTION, c.INODE_LOCK),
            any_right=True,
            one_waits=True,
        ),
        Holder(
            "it syncs the transaction group",
            "OpenZFS module/zfs/txg.c txg_wait_synced(), txg_wait_open()",
            _TXG_SYNC,
            lock="a transaction group of ZFS",
            of=names("txg_* dmu_* zil_* zfs_* zpl_* dsl_* spa_*"),
            not_of=_TXG_SYNC,
        ),
        perhaps(
            "it writes segments, for which no transaction may be open",
            "fs/nilfs2/segment.c nilfs_transaction_lock(): ns_segctor_sem is held for "
            "writing while a segment is constructed",
            names("nilfs_segctor_do_construct"),
            lock="ns_segctor_sem of nilfs2",
            caller=_NILFS_WAITS,
        ),
        perhaps(
            "it has begun a transaction, which the writer of segments waits for",
            "fs/nilfs2/segment.c nilfs_transaction_begin() holds ns_segctor_sem for "
            "reading until it is committed; nilfs_transaction_lock() takes it to write",
            _NILFS_OPERATION,
            lock="ns_segctor_sem of nilfs2, which a transaction has",
            not_shows=_NILFS_WAITS,
            caller=_NILFS_WAITS,
            any_right=True,
        ),
        Holder(
            "it commits the transaction",
            "fs/nilfs2/segment.c, fs/gfs2/log.c, fs/jfs/jfs_txnmgr.c, "
            "fs/ubifs/commit.c, fs/ocfs2/journal.c, fs/reiserfs/journal.c: "
            "transactions wait for these",
            _THREADS,
            lock="a transaction of nilfs2, gfs2, jfs, ubifs, ocfs2, reiserfs",
            not_of=_THREADS,
            # It waits for the log's lock itself.
            not_in=(c.JOURNAL_COMMIT_WAIT,),
        ),
        perhaps(
            "it writes the log, holding its lock",
            "fs/gfs2/trans.c __gfs2_trans_begin() takes sd_log_flush_lock for reading, "
            "gfs2_log_flush() for writing",
            names("gfs2_log_flush"),
            lock="sd_log_flush_lock of gfs2, which is written",
            of=names("__gfs2_trans_begin"),
            past=True,
        ),
        _GFS2_BEGUN,
    ),
}
