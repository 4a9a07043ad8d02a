# SPDX-License-Identifier: GPL-2.0-only
"""linked_stacks: hold the stacks whose links the tests judge, by short names."""

from __future__ import annotations

# name: innermost first, `/module` where a module's.
STACKS = {
    # ext4 and jbd2.
    "fsync": "schedule jbd2_log_wait_commit/jbd2 ext4_sync_file/ext4 do_fsync",
    "commit": "io_schedule __wait_on_buffer jbd2_journal_commit_transaction/jbd2 "
    "kjournald2/jbd2 kthread",
    "updates": "schedule jbd2_journal_wait_updates/jbd2 "
    "jbd2_journal_commit_transaction/jbd2 kjournald2/jbd2 kthread",
    "handle": "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    "ext4_dirty_inode/ext4 vfs_write",
    "orphan": "io_schedule __wait_on_buffer ext4_orphan_add/ext4 ext4_unlink/ext4 "
    "vfs_unlink do_unlinkat",
    "extents": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "mpage_map_and_submit_extent/ext4 ext4_do_writepages/ext4 writeback_sb_inodes "
    "wb_workfn",
    "prepares": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "mpage_prepare_extent_to_map/ext4 ext4_do_writepages/ext4 writeback_sb_inodes "
    "wb_workfn",
    "inactive": "io_schedule folio_wait_writeback truncate_inode_pages_range "
    "ext4_evict_inode/ext4 evict",
    "checkpoint": "io_schedule __wait_on_buffer jbd2_log_do_checkpoint/jbd2 "
    "__jbd2_log_wait_for_space/jbd2 start_this_handle/jbd2 ext4_dirty_inode/ext4 "
    "vfs_write",
    "space": "schedule mutex_lock_io __jbd2_log_wait_for_space/jbd2 "
    "start_this_handle/jbd2 ext4_dirty_inode/ext4 vfs_write",
    "page": "io_schedule folio_wait_bit_common __folio_lock ext4_da_write_begin/ext4 "
    "vfs_write",
    "writes-page": "io_schedule folio_wait_writeback writeback_iter "
    "ext4_writepages/ext4 file_write_and_wait_range do_fsync",
    "locks-page": "io_schedule folio_wait_bit_common __folio_lock writeback_iter "
    "ext4_writepages/ext4 writeback_sb_inodes wb_workfn",
    "reads-page": "io_schedule folio_wait_bit_common filemap_update_page filemap_read "
    "ext4_file_read_iter/ext4 vfs_read",
    "under-writeback": "io_schedule folio_wait_writeback ext4_da_write_begin/ext4 "
    "vfs_write",
    "end-io": "schedule down_write ext4_map_blocks/ext4 ext4_end_io_rsv_work/ext4 "
    "process_one_work",
    "throttled": "io_schedule_timeout balance_dirty_pages generic_perform_write "
    "ext4_buffered_write_iter/ext4 vfs_write",
    # XFS.
    "xfs-fsync": "schedule xlog_cil_force_seq/xfs xfs_log_force_seq/xfs "
    "xfs_file_fsync/xfs do_fsync",
    "xfs-iclog": "schedule xlog_wait_on_iclog/xfs xfs_log_force_seq/xfs "
    "xfs_file_fsync/xfs do_fsync",
    "xfs-push": "schedule xlog_state_get_iclog_space/xfs xlog_write/xfs "
    "xlog_cil_push_work/xfs process_one_work",
    "xfs-ioend": "schedule down_write xlog_ioend_work/xfs process_one_work",
    "xfs-grant": "schedule xlog_grant_head_wait/xfs xfs_log_reserve/xfs "
    "xfs_trans_alloc/xfs xfs_vn_update_time/xfs vfs_write",
    "xfs-ail": "io_schedule blk_mq_get_tag submit_bio_noacct xfs_buf_delwri_submit/xfs "
    "xfsaild/xfs kthread",
    "xfs-flush": "io_schedule blk_mq_get_tag submit_bio_noacct xfs_map_blocks/xfs "
    "xfs_vm_writepages/xfs writeback_sb_inodes wb_workfn",
    "xfs-buffer": "schedule_timeout down xfs_buf_lock/xfs xfs_read_agf/xfs "
    "xfs_vn_create/xfs",
    "xfs-allocates": "io_schedule xfs_buf_iowait/xfs xfs_bmapi_allocate/xfs "
    "xfs_vm_writepages/xfs wb_workfn",
    "xfs-unlinks": "schedule_timeout down xfs_buf_lock/xfs xfs_read_agi/xfs "
    "xfs_iunlink/xfs xfs_remove/xfs",
    "xfs-creates": "schedule_timeout down xfs_buf_lock/xfs xfs_read_agf/xfs "
    "xfs_ialloc_ag_alloc/xfs xfs_dialloc/xfs xfs_create/xfs",
    # btrfs.
    "btrfs-joins": "schedule wait_current_trans/btrfs start_transaction/btrfs "
    "btrfs_create/btrfs path_openat",
    "btrfs-commits": "io_schedule folio_wait_writeback "
    "btrfs_write_marked_extents/btrfs btrfs_commit_transaction/btrfs btrfs_ioctl/btrfs",
    "btrfs-waits": "schedule btrfs_commit_transaction/btrfs btrfs_ioctl/btrfs",
    "btrfs-joined": "io_schedule read_extent_buffer_pages/btrfs btrfs_cow_block/btrfs "
    "btrfs_search_slot/btrfs btrfs_insert_empty_items/btrfs btrfs_create/btrfs",
    "btrfs-follows": "schedule wait_for_commit/btrfs btrfs_commit_transaction/btrfs "
    "btrfs_sync_fs/btrfs",
    "btrfs-range": "schedule __lock_extent/btrfs btrfs_finish_one_ordered/btrfs "
    "process_one_work",
    "btrfs-fiemap": "io_schedule read_extent_buffer_pages/btrfs extent_fiemap/btrfs",
    "btrfs-ticket": "schedule handle_reserve_ticket/btrfs btrfs_buffered_write/btrfs",
    "btrfs-flush": "schedule btrfs_wait_ordered_extents/btrfs flush_space/btrfs "
    "btrfs_async_reclaim_metadata_space/btrfs process_one_work",
    # Locks of inodes.
    "opens": "schedule rwsem_down_write_slowpath down_write path_openat do_filp_open",
    "lists": "schedule down_read_killable iterate_dir __x64_sys_getdents64",
    "creates": "io_schedule __wait_on_buffer ext4_create/ext4 path_openat do_filp_open",
    "truncates": "io_schedule __wait_on_buffer ext4_setattr/ext4 notify_change "
    "do_truncate",
    "appends": "schedule down_write ext4_buffered_write_iter/ext4 vfs_write",
    "fsyncs": "io_schedule folio_wait_writeback ext4_sync_file/ext4 do_fsync",
    "lookup": "schedule d_alloc_parallel __lookup_slow lookup_slow path_lookupat",
    "looks-up": "io_schedule __wait_on_buffer ext4_lookup/ext4 lookup_slow "
    "path_lookupat",
    "freed": "schedule __wait_on_freeing_inode find_inode_fast iget_locked "
    "ext4_iget/ext4",
    "evicts": "io_schedule __wait_on_buffer ext4_evict_inode/ext4 evict dispose_list",
    "new": "schedule wait_on_inode iget_locked ext4_iget/ext4 ext4_lookup/ext4",
    "reads-inode": "io_schedule __wait_on_buffer ext4_iget/ext4 ext4_lookup/ext4",
    # Stacked devices, memory, processes, OpenZFS, f2fs.
    "array": "schedule raid5_get_active_stripe/raid456 raid5_make_request/raid456 "
    "md_submit_bio submit_bio_noacct xfs_vm_writepages/xfs wb_workfn",
    "md-thread": "io_schedule blk_mq_get_tag submit_bio_noacct ops_run_io/raid456 "
    "raid5d/raid456 md_thread kthread",
    "barrier": "schedule wait_barrier/raid10 raid10_make_request/raid10 md_submit_bio",
    "resync": "schedule raise_barrier/raid10 raid10_sync_request/raid10 md_do_sync "
    "md_thread kthread",
    "raid10d": "schedule wait_barrier/raid10 raid10_read_request/raid10 raid10d/raid10 "
    "md_thread kthread",
    "super": "schedule md_super_wait md_bitmap_unplug flush_bio_list/raid1 "
    "raid1_unplug/raid1 blk_finish_plug",
    "device-pages": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "__block_write_full_folio writepage_cb write_cache_pages do_writepages "
    "writeback_sb_inodes wb_workfn",
    "quota": "schedule wait_for_completion btrfs_quota_disable/btrfs btrfs_ioctl/btrfs",
    "rescan": "io_schedule read_extent_buffer_pages/btrfs "
    "btrfs_qgroup_rescan_worker/btrfs process_one_work",
    "ordered": "schedule wait_current_trans/btrfs start_transaction/btrfs "
    "btrfs_finish_ordered_io/btrfs process_one_work",
    "exits": "schedule percpu_down_read exit_signals do_exit",
    "attaches": "schedule percpu_down_write __cgroup_procs_write cgroup_file_write",
    "reclaims-log": "schedule flush_work xlog_cil_force_seq/xfs __xfs_iunpin_wait/xfs "
    "xfs_reclaim_inode/xfs try_to_free_pages alloc_pages",
    "reconnects": "schedule mutex_lock smb2_reconnect/cifs smb2_plain_req_init/cifs",
    "reconnects-too": "schedule mutex_lock smb2_reconnect/cifs SMB2_open_init/cifs",
    "invalidates": "schedule mutex_lock cifs_mark_open_files_invalid/cifs "
    "smb2_reconnect/cifs SMB2_open_init/cifs",
    "crypt": "schedule wait_for_completion crypt_map/dm_crypt dm_submit_bio",
    "reclaims": "schedule throttle_direct_reclaim try_to_free_pages alloc_pages",
    "kswapd": "schedule xfs_buf_lock/xfs shrink_node balance_pgdat kswapd kthread",
    "ps": "schedule down_read_killable __access_remote_vm proc_pid_cmdline_read "
    "vfs_read",
    "faults": "io_schedule folio_wait_bit_common filemap_fault handle_mm_fault "
    "do_user_addr_fault",
    "zfs-throttled": "cv_wait_common/spl __cv_wait/spl dmu_tx_wait/zfs zfs_write/zfs",
    "zfs-synced": "cv_wait_common/spl __cv_wait/spl txg_wait_synced_impl/zfs "
    "zpl_fsync/zfs",
    "zfs-sync": "io_schedule cv_wait_common/spl zio_wait/zfs spa_sync/zfs "
    "txg_sync_thread/zfs",
    "f2fs-op": "schedule down_read f2fs_lock_op/f2fs f2fs_create/f2fs path_openat",
    "map-lock": "schedule mutex_lock writecache_map/dm_writecache dm_submit_bio "
    "submit_bio_noacct xfs_buf_submit/xfs",
    "map-work": "schedule md_handle_request/md_mod submit_bio_noacct "
    "writecache_flush/dm_writecache writecache_flush_work/dm_writecache "
    "process_one_work",
    "crypt-work": "io_schedule_timeout mempool_alloc kcryptd_crypt/dm_crypt "
    "process_one_work",
    "zeroes": "io_schedule_timeout wait_for_completion_io submit_bio_wait "
    "blkdev_issue_zeroout blkdev_fallocate vfs_fallocate",
    "nfs-read": "schedule rpc_wait_bit_killable/sunrpc nfs_getattr/nfs vfs_statx",
    "resets": "schedule mutex_lock reset_store/tinyblk kernfs_fop_write_iter vfs_write",
    "unloads": "schedule kernfs_drain __kernfs_remove device_del del_gendisk "
    "remove_all/tinyblk __do_sys_delete_module",
    "maps": "schedule rwsem_down_read_slowpath xfs_map_blocks/xfs iomap_writepages "
    "writeback_sb_inodes __writeback_inodes_wb wb_workfn",
    "commits-inode": "schedule xfs_log_commit_cil/xfs __xfs_trans_commit/xfs "
    "xfs_setattr_nonsize/xfs notify_change",
    "thaws": "schedule rwsem_down_write_slowpath thaw_super __x64_sys_ioctl",
    "tree-write": "schedule rwsem_down_write_slowpath btrfs_tree_lock_nested/btrfs "
    "btrfs_search_slot/btrfs btrfs_commit_transaction/btrfs transaction_kthread/btrfs",
    "tree-read": "io_schedule read_extent_buffer_pages/btrfs "
    "read_block_for_search/btrfs btrfs_search_slot/btrfs btrfs_lookup/btrfs",
    "quota-off": "schedule mutex_lock btrfs_remove_qgroup/btrfs btrfs_ioctl/btrfs",
    "quota-on": "schedule btrfs_commit_transaction/btrfs btrfs_quota_enable/btrfs "
    "btrfs_ioctl/btrfs",
    "quota-add": "schedule mutex_lock btrfs_create_qgroup/btrfs btrfs_ioctl/btrfs",
    "hibernates": "schedule wait_for_completion __flush_work wait_for_device_probe "
    "dpm_prepare state_store",
    "probes": "schedule wait_for_completion chip_setup deferred_probe_work_func "
    "process_one_work",
    "unmaps": "schedule wait_for_completion devtmpfs_submit_req devtmpfs_delete_node "
    "device_del del_gendisk",
    "nodes": "schedule down_write lookup_one devtmpfs_work_loop devtmpfsd kthread",
    "scrubs": "schedule __scrub_blocked_if_needed/btrfs scrub_pause_off/btrfs "
    "scrub_enumerate_chunks/btrfs btrfs_scrub_dev/btrfs btrfs_ioctl/btrfs",
    "stops-scrub": "schedule btrfs_scrub_cancel/btrfs btrfs_commit_transaction/btrfs "
    "prepare_to_relocate/btrfs btrfs_ioctl/btrfs",
    "reply": "schedule rwsem_down_write_slowpath handle_reply/ceph mds_dispatch/ceph",
    "reply-inside": "schedule bit_wait ilookup5 iget5_locked ceph_get_inode/ceph "
    "handle_reply/ceph mds_dispatch/ceph",
    "creates-btrfs": "schedule find_free_ino/btrfs btrfs_create/btrfs lookup_open "
    "path_openat",
    "stops-sync": "schedule stop_sync_thread/md_mod do_md_stop/md_mod md_ioctl/md_mod",
    "starts-sync": "schedule mddev_suspend/md_mod md_start_sync/md_mod "
    "process_one_work",
    "flushes-quota": "schedule wait_for_completion __flush_workqueue "
    "xlog_cil_force_seq/xfs xfs_qm_dqunpin_wait/xfs xfs_qm_dqflush/xfs shrink_slab",
    "unpins": "schedule down xfs_buf_lock/xfs xfs_buf_item_unpin/xfs "
    "xlog_ioend_work/xfs process_one_work",
    "sleeps-on-inode": "schedule inode_sleep_on_writeback wb_writeback wb_workfn",
    "writes-inode": "io_schedule folio_wait_bit_common __folio_lock "
    "extent_write_cache_pages/btrfs __writeback_single_inode writeback_single_inode "
    "flush_space/btrfs",
    "lists-too": "schedule mutex_lock xfs_buf_lock/xfs xfs_readdir/xfs iterate_dir "
    "__x64_sys_getdents64",
    "removes": "schedule rwsem_down_write_slowpath down_write do_unlinkat",
    "f2fs-checkpoint": "io_schedule f2fs_wait_on_all_pages/f2fs "
    "f2fs_write_checkpoint/f2fs issue_checkpoint_thread/f2fs",
}
