# SPDX-License-Identifier: GPL-2.0-only
"""This test will link waiters with holders of arrays, frozen queues, blocks of trees,
pages and buffers, as the kernel's sources give them."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, joined
from writestall.log.headline import sentence
from writestall.log.links import LIKELY, POSSIBLE

WORK = " process_one_work worker_thread kthread"
FLUSH = "schedule schedule_timeout __wait_for_common __flush_work "
BUFFER = "schedule_timeout ___down_common down xfs_buf_lock/xfs xfs_buf_read_map/xfs "
READ = "schedule_timeout __wait_for_common xfs_buf_iowait/xfs xfs_buf_read_map/xfs "
TREE = "schedule rwsem_down_read_slowpath __btrfs_tree_read_lock/btrfs "
FOLIO = "io_schedule folio_wait_bit_common __filemap_get_folio "
STACKS = {
    "suspends": "schedule mddev_suspend suspend_lo_store md_attr_store vfs_write",
    "in-suspended": "schedule md_handle_request md_submit_bio submit_bio_noacct "
    "iomap_submit_ioend",
    "flush-waits": "schedule md_flush_request raid5_make_request/raid456 "
    "md_handle_request md_submit_bio",
    "flush-work": "schedule md_handle_request md_submit_flush_data" + WORK,
    "cluster-sends": "schedule lock_comm/md_cluster remove_disk/md_cluster "
    "hot_remove_disk md_ioctl blkdev_ioctl",
    "cluster-token": "schedule dlm_lock_sync/md_cluster lock_token/md_cluster "
    "resync_info_update/md_cluster raid1_sync_request/raid1 md_do_sync md_thread",
    "cluster-daemon": "schedule process_metadata_update/md_cluster "
    "recv_daemon/md_cluster md_thread kthread",
    "head-enters": "schedule blk_queue_enter direct_make_request "
    "nvme_ns_head_make_request/nvme_core generic_make_request submit_bio",
    "head-freezes": "schedule blk_mq_freeze_queue_wait blk_mq_freeze_queue "
    "nvme_update_disk_info/nvme_core nvme_user_cmd/nvme_core",
    "resumes": "schedule __mutex_lock dm_table_set_restrictions/dm_mod "
    "dm_swap_table/dm_mod do_resume/dm_mod dm_ctl_ioctl/dm_mod",
    "stores": "schedule blk_mq_freeze_queue_wait queue_ra_store queue_attr_store "
    "kernfs_fop_write_iter vfs_write",
    "invalidates": "schedule rwsem_down_write_slowpath down_write "
    "fuse_reverse_inval_entry/fuse fuse_dev_do_write/fuse fuse_dev_write/fuse",
    "lists": "schedule __mutex_lock fuse_lock_inode/fuse fuse_readdir_uncached/fuse "
    "fuse_readdir/fuse iterate_dir ksys_getdents64",
    "asks": "schedule request_wait_answer/fuse __fuse_request_send/fuse "
    "fuse_readdir/fuse iterate_dir ksys_getdents64",
    "releases": "schedule blk_queue_enter blk_mq_alloc_request scsi_execute_cmd "
    "sd_release blkdev_put blkdev_release __fput",
    "removes": "schedule __mutex_lock del_gendisk sd_remove usb_stor_disconnect "
    "usb_unbind_interface device_del",
    "revalidates": "schedule __mutex_lock revalidate_disk nvme_validate_ns/nvme_core",
    "scans-parts": "io_schedule do_read_cache_page read_dev_sector check_partition "
    "rescan_partitions __blkdev_get blkdev_get device_add_disk",
    "syncs-disks": "schedule __mutex_lock sync_bdevs ksys_sync __x64_sys_sync",
    "tree-reads": TREE + "btrfs_search_slot/btrfs btrfs_lookup_file_extent/btrfs "
    "btrfs_drop_extents/btrfs",
    "tree-copies": TREE + "btrfs_search_slot/btrfs btrfs_lookup_extent_info/btrfs "
    "update_ref_for_cow/btrfs btrfs_force_cow_block/btrfs btrfs_search_slot/btrfs",
    "tree-logs": "schedule wait_extent_bit/btrfs lock_extent_bits/btrfs "
    "btrfs_truncate_inode_items/btrfs btrfs_log_changed_extents/btrfs "
    "btrfs_sync_file/btrfs",
    "folio-drops": FOLIO + "invalidate_inode_pages2_range "
    "btrfs_cleanup_transaction/btrfs transaction_kthread/btrfs",
    "folio-cleans": FOLIO + "cleanup_dirty_folios/btrfs run_delalloc_nocow/btrfs "
    "writepage_delalloc/btrfs extent_writepage/btrfs wb_workfn",
    "ceph-inode": "schedule bit_wait __wait_on_bit ilookup5 iget5_locked "
    "ceph_get_inode/ceph ceph_readdir_prepopulate/ceph handle_reply/ceph",
    "ceph-fills": "schedule rwsem_down_write_slowpath down_write handle_reply/ceph "
    "mds_dispatch/ceph",
    "inobt-locks": BUFFER + "xfs_btree_lookup/xfs xfs_dialloc_ag/xfs xfs_dialloc/xfs",
    "agf-reads": READ + "xfs_trans_read_buf_map/xfs xfs_read_agf/xfs",
    "names-read": READ + "xfs_da_read_buf/xfs xfs_dir3_block_read/xfs xfs_lookup/xfs",
    "names-lock": BUFFER + "xfs_trans_read_buf_map/xfs xfs_da_read_buf/xfs "
    "xfs_dir3_data_read/xfs xfs_readdir/xfs",
    "overlay-drops": FLUSH + "destroy_inode __dentry_kill dput ovl_destroy_inode",
    "inodegc": "schedule down xfs_buf_lock/xfs xfs_read_agi/xfs xfs_inactive/xfs "
    "xfs_inodegc_worker/xfs" + WORK,
    "fsyncs": "io_schedule wait_on_page_bit __filemap_fdatawait_range "
    "file_write_and_wait_range xfs_file_fsync/xfs",
    "maps-file": "schedule rwsem_down_write_slowpath xfs_ilock_data_map_shared/xfs "
    "xfs_getbmap/xfs xfs_file_ioctl/xfs",
    "reads-map": BUFFER + "xfs_btree_visit_blocks/xfs xfs_iread_extents/xfs "
    "xfs_bmapi_read/xfs xfs_read_iomap_begin/xfs",
    "locks-next": "io_schedule __lock_page __process_pages_contig/btrfs "
    "lock_delalloc_pages/btrfs __extent_writepage/btrfs "
    "extent_write_cache_pages/btrfs",
    "prepares": "io_schedule wait_on_page_bit prepare_pages/btrfs "
    "btrfs_buffered_write/btrfs vfs_write",
    "exits": "schedule_timeout wait_for_completion io_wq_destroy_manager "
    "io_wq_put_and_exit do_exit",
    "manages": "schedule_timeout wait_for_completion io_wq_manager ret_from_fork",
    "agf-after-agi": BUFFER + "xfs_trans_read_buf_map/xfs xfs_read_agf/xfs "
    "xfs_ialloc_ag_alloc/xfs xfs_dialloc/xfs xfs_create/xfs",
    "shrinks-xfs": BUFFER + "xfs_trans_read_buf_map/xfs xfs_read_agi/xfs "
    "xfs_ag_resv_init/xfs xfs_ag_shrink_space/xfs xfs_growfs_data/xfs",
    "snapshots": "io_schedule wait_for_in_progress/dm_snapshot do_origin/dm_snapshot "
    "dm_submit_bio submit_bio_noacct ext4_io_submit",
    "copies": "schedule_timeout io_schedule_timeout sync_io dm_io "
    "persistent_commit_exception/dm_snapshot run_complete_job process_jobs" + WORK,
    "makes-room": "schedule md_super_wait md_update_sb r5l_do_reclaim/raid456 "
    "md_thread kthread",
    "nfs-compares": "schedule nfs_wait_client_init_complete/nfs nfs_get_client/nfs "
    "nfs4_set_client/nfsv4",
    "nfs-connects": "schedule rpc_wait_bit_killable/sunrpc rpc_create/sunrpc "
    "nfs_create_rpc_client/nfs nfs4_init_client/nfsv4 nfs_get_client/nfs",
    "quota-waits": "schedule try_flush_qgroup/btrfs btrfs_qgroup_reserve_data/btrfs",
    "quota-flushes": "schedule_timeout wait_for_completion btrfs_start_delalloc_roots"
    "/btrfs try_flush_qgroup/btrfs btrfs_qgroup_reserve_data/btrfs",
    "probes-loop": "schedule __mutex_lock loop_probe/loop blk_request_module "
    "blkdev_get_no_open",
    "unloads-loop": "schedule __mutex_lock unregister_blkdev loop_exit/loop "
    "__x64_sys_delete_module",
    "freezes": "schedule percpu_rwsem_wait percpu_down_write freeze_super do_vfs_ioctl",
    "data-ticket": "schedule __reserve_bytes/btrfs btrfs_reserve_data_bytes/btrfs "
    "btrfs_check_data_free_space/btrfs btrfs_buffered_write/btrfs",
    "data-reclaim": "schedule wait_for_commit/btrfs btrfs_commit_transaction/btrfs "
    "flush_space/btrfs btrfs_async_reclaim_data_space/btrfs" + WORK,
    "meta-ticket": "schedule __reserve_bytes/btrfs btrfs_reserve_metadata_bytes/btrfs "
    "start_transaction/btrfs btrfs_create/btrfs",
    "meta-reclaim": "schedule wait_for_commit/btrfs btrfs_commit_transaction/btrfs "
    "flush_space/btrfs btrfs_async_reclaim_metadata_space/btrfs" + WORK,
    "waits-iputs": "schedule btrfs_wait_on_delayed_iputs/btrfs flush_space/btrfs "
    "btrfs_async_reclaim_metadata_space/btrfs" + WORK,
    "runs-iputs": "schedule btrfs_commit_transaction/btrfs btrfs_evict_inode/btrfs "
    "evict btrfs_run_delayed_iputs/btrfs cleaner_kthread/btrfs kthread",
    "waits-range": "schedule lock_extent_bits/btrfs btrfs_invalidatepage/btrfs "
    "__extent_writepage/btrfs btrfs_run_delalloc_work/btrfs",
    "allocates": "schedule __reserve_bytes/btrfs start_transaction/btrfs "
    "btrfs_replace_file_extents/btrfs btrfs_fallocate/btrfs",
    "forces-log": FLUSH.replace("__flush_work", "__flush_workqueue")
    + "xlog_cil_force_seq/xfs xfs_log_force/xfs xfs_qm_dqunpin_wait/xfs",
    "ends-log": "schedule down xfs_buf_lock/xfs xfs_buf_item_unpin/xfs "
    "xlog_cil_committed/xfs xlog_ioend_work/xfs" + WORK,
    "renames": "schedule __mutex_lock lock_rename do_renameat2",
    "renames-too": "schedule __reserve_bytes/btrfs btrfs_rename/btrfs vfs_rename "
    "do_renameat2",
    "cpu-down": "schedule_timeout __wait_for_common wait_for_completion "
    "__cpuhp_kick_ap cpuhp_kick_ap _cpu_down",
    "cpu-thread": "schedule __mutex_lock cgroup_transfer_tasks cpuhp_invoke_callback "
    "cpuhp_thread_fun smpboot_thread_fn",
    "sends": FLUSH + "flush_work ufshcd_hold ufshcd_queuecommand scsi_queue_rq "
    "blk_mq_dispatch_rq_list blk_mq_run_hw_queue blk_finish_plug read_pages",
    "quiesces": "schedule blk_freeze_queue blk_mq_freeze_queue scsi_device_quiesce "
    "scsi_bus_suspend",
    "scan-freezes": "schedule blk_mq_freeze_queue_wait blk_mq_freeze_queue "
    "nvme_update_disk_info/nvme_core nvme_revalidate_disk/nvme_core "
    "nvme_validate_ns/nvme_core nvme_scan_work/nvme_core" + WORK,
    "origin-reads": "schedule __down_read do_origin/dm_snapshot __map_bio "
    "dm_make_request",
    "origin-writes": "schedule __down_write_nested snapshot_ctr/dm_snapshot "
    "dm_table_add_target table_load",
    "origin-copies": "schedule __down_read do_origin/dm_snapshot "
    "pending_complete/dm_snapshot persistent_commit_exception/dm_snapshot "
    "run_complete_job process_jobs" + WORK,
    "ufs-suspends": "schedule schedule_timeout __down_timeout down_timeout "
    "ufshcd_wl_suspend scsi_bus_suspend_common",
    "ufs-recovers": "schedule_timeout wait_for_completion_timeout "
    "ufshcd_config_pwr_mode ufshcd_err_handler" + WORK,
    "caches-write": "schedule bch_bucket_alloc/bcache bch_data_insert_start/bcache"
    + WORK,
}
LINKED = (
    ("in-suspended", "suspends", POSSIBLE),
    ("suspends", "flush-waits", POSSIBLE),
    ("flush-waits", "flush-work", POSSIBLE),
    ("flush-work", "suspends", POSSIBLE),
    ("cluster-sends", "cluster-token", POSSIBLE),
    ("cluster-daemon", "cluster-sends", POSSIBLE),
    ("head-enters", "head-freezes", POSSIBLE),
    ("head-freezes", "head-enters", POSSIBLE),
    ("resumes", "stores", POSSIBLE),
    ("stores", "resumes", POSSIBLE),
    ("invalidates", "lists", POSSIBLE),
    ("lists", "asks", POSSIBLE),
    ("releases", "removes", POSSIBLE),
    ("removes", "releases", POSSIBLE),
    ("revalidates", "scans-parts", POSSIBLE),
    ("syncs-disks", "scans-parts", POSSIBLE),
    ("tree-reads", "tree-copies", POSSIBLE),
    ("tree-reads", "tree-logs", POSSIBLE),
    ("folio-drops", "folio-cleans", POSSIBLE),
    ("ceph-inode", "ceph-fills", POSSIBLE),
    ("ceph-fills", "ceph-inode", POSSIBLE),
    ("inobt-locks", "agf-reads", POSSIBLE),
    ("names-lock", "names-read", POSSIBLE),
    ("overlay-drops", "inodegc", POSSIBLE),
    ("fsyncs", "caches-write", POSSIBLE),
    ("maps-file", "reads-map", POSSIBLE),
    ("prepares", "locks-next", POSSIBLE),
    ("locks-next", "prepares", POSSIBLE),
    ("exits", "manages", POSSIBLE),
    ("agf-after-agi", "shrinks-xfs", POSSIBLE),
    ("shrinks-xfs", "agf-after-agi", POSSIBLE),
    ("snapshots", "copies", POSSIBLE),
    ("nfs-compares", "nfs-connects", POSSIBLE),
    ("quota-waits", "quota-flushes", POSSIBLE),
    ("data-ticket", "data-reclaim", LIKELY),
    ("meta-ticket", "meta-reclaim", LIKELY),
    ("waits-iputs", "runs-iputs", POSSIBLE),
    ("waits-range", "allocates", POSSIBLE),
    ("forces-log", "ends-log", POSSIBLE),
    ("renames", "renames-too", POSSIBLE),
    ("cpu-down", "cpu-thread", LIKELY),
    ("quiesces", "sends", POSSIBLE),
    ("ufs-suspends", "ufs-recovers", POSSIBLE),
    # Two locks, so each may wait for the other, though one list has both.
    ("probes-loop", "unloads-loop", POSSIBLE),
    ("unloads-loop", "probes-loop", POSSIBLE),
)
APART = (
    # A block of a directory is no block of an inodes' btree.
    ("inobt-locks", "names-read"),
    ("names-lock", "agf-reads"),
    # It waits for its own tree, and nobody knows what that has locked.
    ("tree-copies", "tree-reads"),
    # A scan freezes one queue, and who is inside the multipath device waits for that.
    ("scan-freezes", "head-enters"),
    # Both wait for the lock: the work does nobody's I/O.
    ("origin-reads", "origin-copies"),
    ("origin-writes", "origin-copies"),
    # Since 5.9 tickets for data and for metadata have a work each.
    ("data-ticket", "meta-reclaim"),
    ("meta-ticket", "data-reclaim"),
    # Who makes room in a journal of raid5 does no other's I/O.
    ("copies", "makes-room"),
)
WORDS = (
    ("cluster-token", "waits for a lock of the array in its cluster"),
    ("flush-waits", "waits for a flush of an array (flush_bio)"),
    ("freezes", "freezes a file system, and waits for its writers"),
    ("waits-iputs", "waits until inodes that nobody uses any more are freed"),
    ("probes-loop", "loop_ctl_mutex"),
    ("quota-waits", "waits until data of a btrfs quota group has been written"),
    ("removes", "waits for the lock of a disk's opens and closes (open_mutex)"),
)


def task(name: str, pid: int) -> Shown:
    return Shown(name, pid, STACKS[name])


@pytest.mark.parametrize(("waiter", "holder", "confidence"), LINKED)
def test_who_can_hold_it(waiter: str, holder: str, confidence: str) -> None:
    one, other = task(waiter, 11), task(holder, 12)
    assert joined(one, other)[waiter] == (holder, confidence)


@pytest.mark.parametrize(("waiter", "holder"), APART)
def test_who_cannot(waiter: str, holder: str) -> None:
    assert waiter not in joined(task(waiter, 11), task(holder, 12))


@pytest.mark.parametrize(("name", "words"), WORDS)
def test_the_words_of_a_wait(name: str, words: str) -> None:
    assert words in sentence(explained(task(name, 11).report()), "log")
