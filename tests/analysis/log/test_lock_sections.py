# SPDX-License-Identifier: GPL-2.0-only
"""This test will link a waiter with a task that is below a call made with its lock
held, and with nobody who has released it, shares it or waits for it too."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, joined
from writestall.log.headline import root, sentence
from writestall.log.links import POSSIBLE
from writestall.log.next_steps import said

MUTEX, WRITE, READ = (
    f"schedule {words} "
    for words in (
        "schedule_preempt_disabled __mutex_lock",
        "rwsem_down_write_slowpath down_write",
        "rwsem_down_read_slowpath down_read",
    )
)
FLUSH = "schedule schedule_timeout __wait_for_common __flush_work "
WORK = " process_one_work worker_thread kthread"
STACKS = {
    "remount": WRITE + "do_remount path_mount __x64_sys_mount",
    "syncfs": "io_schedule folio_wait_writeback sync_inodes_sb sync_filesystem "
    "__x64_sys_syncfs",
    "mounts": "schedule super_lock grab_super sget_fc get_tree_bdev_flags "
    "xfs_fs_get_tree/xfs vfs_get_tree",
    "umounts": "io_schedule xfs_buf_iowait/xfs xfs_unmountfs/xfs xfs_fs_put_super/xfs "
    "generic_shutdown_super kill_block_super deactivate_locked_super cleanup_mnt",
    "renames": MUTEX + "lock_rename do_renameat2",
    "renamed": "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    "ext4_rename/ext4 vfs_rename do_renameat2",
    "drains": FLUSH + "__lru_add_drain_all lru_add_drain_all madvise_collapse",
    "drains-too": MUTEX + "__lru_add_drain_all lru_add_drain_all invalidate_bdev",
    "rmdir": MUTEX + "cgroup_kn_lock_live cgroup_rmdir kernfs_iop_rmdir",
    "offlines": FLUSH
    + "lru_add_drain_all mem_cgroup_css_offline css_killed_work_fn"
    + WORK,
    "show-attr": MUTEX + "queue_attr_show sysfs_kf_seq_show",
    "store-attr": "schedule blk_mq_freeze_queue_wait elevator_switch elv_iosched_store "
    "queue_attr_store kernfs_fop_write_iter",
    "quota-sync": FLUSH + "flush_delayed_work dquot_writeback_dquots ext4_sync_fs/ext4",
    "quota-release": "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    "ext4_release_dquot/ext4 quota_release_workfn" + WORK,
    "quota-writes": WRITE + "v2_write_dquot dquot_commit ext4_write_dquot/ext4",
    "quota-inserts": "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    "ext4_quota_write/ext4 qtree_write_dquot v2_write_dquot dquot_acquire",
    "reads-mounts": READ + "m_start seq_read_iter",
    "reads-mounts-too": "io_schedule folio_wait_writeback m_start seq_read_iter",
    "scans": MUTEX + "scsi_scan_host_selected/scsi_mod store_scan/scsi_mod",
    "probes": "schedule blk_execute_rq scsi_execute_cmd/scsi_mod __scsi_scan_target/"
    "scsi_mod scsi_scan_channel/scsi_mod scsi_scan_host_selected/scsi_mod",
    "block-group": MUTEX
    + "btrfs_inc_block_group_ro/btrfs scrub_enumerate_chunks/btrfs",
    "shrinks": "schedule btrfs_commit_transaction/btrfs btrfs_shrink_device/btrfs",
    "dm-open": MUTEX + "dm_get_device/dm_mod",
    "quiesces": MUTEX + "blk_mq_quiesce_tagset nvme_dev_disable/nvme nvme_timeout/nvme "
    "blk_mq_handle_expired blk_mq_queue_tag_busy_iter blk_mq_timeout_work" + WORK,
    "exits-queue": "schedule blk_mq_freeze_queue_wait blk_mq_exit_queue disk_release "
    "kobject_put nvme_scan_ns/nvme_core nvme_scan_work/nvme_core" + WORK,
    "unplugs-zone": "schedule __bio_queue_enter __submit_bio submit_bio_noacct_nocheck "
    "blk_zone_wplug_bio_work" + WORK,
    "itself": "schedule inode_wait_for_writeback evict ceph_put_wrbuffer_cap_refs/ceph "
    "ceph_writepages_start/ceph do_writepages __writeback_single_inode",
    "grace": "schedule schedule_timeout __wait_for_common __wait_rcu_gp "
    "synchronize_rcu unregister_netdevice",
    "nothing": "schedule foo_sleeps/foo",
    "suspends": "io_schedule dm_wait_for_bios_completion/dm_mod __dm_suspend/dm_mod "
    "dm_suspend/dm_mod dev_suspend/dm_mod",
    "fsync": "io_schedule folio_wait_bit_common folio_wait_writeback "
    "ext4_do_writepages/ext4 ext4_sync_file/ext4 do_fsync",
    "nfs-fsync": "io_schedule folio_wait_writeback nfs_file_fsync/nfs do_fsync",
    "opens-tty": MUTEX + "tty_open chrdev_open",
    "in-tty": "schedule __down_common console_lock con_install tty_open chrdev_open",
    "unknown": MUTEX + "no_such_function",
    "module-flush": FLUSH + "foo_close/foo",
    "module-work": "schedule foo_transfer/foo foo_work/foo" + WORK,
    "built-in-flush": FLUSH + "bar_close foo_remove",
    "other-work": "schedule bar_transfer/bar bar_work/bar" + WORK,
    "io-done": "schedule scsi_block_when_processing_errors/scsi_mod sd_open/sd_mod",
    "scsi-eh": "schedule_timeout wait_for_completion_timeout scsi_send_eh_cmnd/"
    "scsi_mod scsi_error_handler/scsi_mod kthread",
    "forks": "schedule percpu_rwsem_wait __percpu_down_read cgroup_css_set_fork "
    "copy_process",
    "counts-bios": "schedule btrfs_bio_counter_inc_blocked/btrfs "
    "btrfs_submit_bbio/btrfs read_extent_buffer_pages/btrfs btrfs_search_slot/btrfs",
    "replaces": "schedule btrfs_rm_dev_replace_blocked/btrfs "
    "btrfs_dev_replace_finishing/btrfs btrfs_dev_replace_by_ioctl/btrfs "
    "btrfs_ioctl/btrfs",
    "dev-stats": MUTEX + "btrfs_run_dev_stats/btrfs btrfs_commit_transaction/btrfs",
    "notifies": MUTEX + "nd_device_notify/libnvdimm device_for_each_child "
    "nd_region_notify/libnvdimm",
    "unbinds": "schedule blk_mq_freeze_queue_wait del_gendisk devres_release_all "
    "device_release_driver_internal unbind_store",
    "caches": "io_schedule folio_wait_bit_common read_extent_buffer_pages/btrfs "
    "btrfs_next_leaf/btrfs load_extent_tree_free/btrfs caching_thread/btrfs "
    "btrfs_work_helper/btrfs" + WORK,
    "wants-cache": "schedule btrfs_caching_ctl_wait_done/btrfs find_free_extent/btrfs "
    "btrfs_reserve_extent/btrfs",
    "repairs": WRITE + "xfs_ilock/xfs xrep_dinode_core/xfs xrep_inode/xfs "
    "xfs_scrub_metadata/xfs",
    "scrubs": "schedule schedule_timeout __down_common down xfs_buf_lock/xfs "
    "xfs_buf_find/xfs xfs_read_agi/xfs xfs_ialloc_read_agi/xfs xfs_iget/xfs "
    "xchk_directory/xfs xfs_scrub_metadata/xfs",
    "wants-agf": "schedule schedule_timeout __down_common down xfs_buf_lock/xfs "
    "xfs_read_agf/xfs xfs_alloc_read_agf/xfs xfs_ifree/xfs",
    "raises": "schedule raise_barrier/raid10 raid10_sync_request/raid10 md_do_sync",
    "kept-out": "schedule wait_barrier/raid10 raid10_make_request/raid10 md_submit_bio",
    "metadata": "schedule raid5d/raid456 md_thread kthread",
    "removes-file": "schedule kernfs_drain __kernfs_remove kernfs_remove_by_name_ns "
    "device_remove_file device_del",
    "in-file": "schedule rpm_resume __pm_runtime_resume mode_store dev_attr_store "
    "sysfs_kf_write kernfs_fop_write_iter vfs_write",
    "bar-works": "schedule bar_transfer bar_work" + WORK,
    "suspends-array": "schedule mddev_suspend/md_mod suspend_lo_store/md_mod "
    "md_attr_store/md_mod",
    "switches-ref": "schedule percpu_ref_switch_to_atomic_sync set_in_sync/md_mod "
    "md_check_recovery/md_mod raid5d/raid456 md_thread/md_mod",
    "swaps": "schedule __down_common down __map_bio dm_submit_bio submit_bio_noacct "
    "swap_writepage",
    "scans-host": "schedule wait_for_completion do_scan_async async_run_entry_fn",
    "bitmap-full": "schedule md_bitmap_startwrite/md_mod __add_stripe_bio/raid456 "
    "raid5_make_request/raid456 md_handle_request/md_mod",
    "sync-ends": "schedule md_bitmap_cond_end_sync/md_mod raid1_sync_request/raid1 "
    "md_do_sync/md_mod md_thread/md_mod",
    "resizes": "schedule resize_stripes/raid456 raid5_check_reshape/raid456",
    "nfsd-session": "schedule wait_for_completion __flush_workqueue "
    "nfsd4_destroy_session/nfsd nfsd4_proc_compound/nfsd",
    "nfsd-shuts": "schedule nfsd4_shutdown_callback/nfsd __destroy_client/nfsd",
    "splits": "schedule wait_for_completion xfs_btree_split/xfs xfs_btree_insert/xfs",
    "ail-rests": "schedule schedule_timeout xfsaild/xfs kthread ret_from_fork",
    "logs-tree": "schedule btrfs_sync_log/btrfs btrfs_sync_file/btrfs do_fsync",
    "target-waits": "schedule wait_for_completion target_put_cmd_and_wait/"
    "target_core_mod core_tmr_abort_task/target_core_mod",
    "reads-file": "io_schedule folio_wait_bit_common filemap_read_folio "
    "do_read_cache_folio read_part_sector check_partition",
    "ring-ends": "schedule wait_for_completion io_wq_exit_workers io_wq_put_and_exit",
    "in-array": "schedule schedule_timeout wait_woken raid5_make_request/raid456 "
    "md_handle_request/md_mod submit_bio_noacct",
    "shrinks-log": "io_schedule __xfs_iunpin_wait/xfs xfs_reclaim_inodes_ag/xfs "
    "super_cache_scan shrink_slab shrink_node do_try_to_free_pages "
    "alloc_inode iget_locked kernfs_get_inode kernfs_iop_lookup lookup_slow",
    "array-thread": MUTEX + "kernfs_find_and_get_ns sysfs_notify md_update_sb/md_mod "
    "raid1d/raid1 md_thread/md_mod",
    "own-checkpoint": READ + "f2fs_truncate_blocks/f2fs f2fs_evict_inode/f2fs evict "
    "f2fs_sync_node_pages/f2fs f2fs_write_checkpoint/f2fs",
    "spins": "__schedule preempt_schedule_common __cond_resched "
    "btrfs_chunk_alloc/btrfs find_free_extent/btrfs __btrfs_cow_block/btrfs "
    "btrfs_search_slot/btrfs",
    "wants-block": READ + "btrfs_read_lock_root_node/btrfs btrfs_search_slot/btrfs",
    "dio-range": "schedule wait_extent_bit/btrfs lock_extent_bits/btrfs "
    "btrfs_dio_iomap_begin/btrfs iomap_iter",
    "ends-range": "schedule wait_extent_bit/btrfs lock_extent_bits/btrfs "
    "btrfs_finish_ordered_io/btrfs btrfs_work_helper/btrfs" + WORK,
    "waits-ordered": "schedule schedule_timeout __wait_for_common "
    "btrfs_wait_ordered_extents/btrfs btrfs_wait_ordered_roots/btrfs",
    "runs-ordered": "schedule btrfs_start_ordered_extent/btrfs "
    "btrfs_run_ordered_extent_work/btrfs btrfs_work_helper/btrfs" + WORK,
    "fdatawait": "io_schedule wait_on_page_bit __filemap_fdatawait_range "
    "filemap_fdatawait_keep_errors sync_inodes_sb",
    "flusher": "io_schedule __lock_page cifs_writepages/cifs do_writepages "
    "__writeback_single_inode writeback_sb_inodes wb_writeback wb_workfn" + WORK,
    "ends-writeback": "io_schedule __lock_page cifs_writev_requeue/cifs" + WORK,
    "in-writepages": "io_schedule wait_on_page_bit cifs_writepages/cifs do_writepages "
    "file_write_and_wait_range cifs_strict_fsync/cifs do_fsync",
    "destroys-queue": FLUSH.replace("__flush_work", "flush_workqueue")
    + "drain_workqueue destroy_workqueue fc_remove_host/scsi_transport_fc",
    "final-delete": "schedule scsi_remove_target fc_rport_final_delete/"
    "scsi_transport_fc" + WORK,
    "shrinks-bufio": "schedule io_schedule_timeout bit_wait_io out_of_line_wait_on_bit "
    "__make_buffer_clean/dm_bufio dm_bufio_shrink_scan/dm_bufio shrink_slab "
    "shrink_zone kswapd",
    "loops": MUTEX + "dm_bufio_shrink_count/dm_bufio shrink_slab do_try_to_free_pages "
    "lo_rw_aio/loop loop_queue_work/loop kthread_worker_fn",
    "asks-helper": "schedule schedule_timeout wait_for_completion_state "
    "call_usermodehelper_exec __request_module crypto_alg_mod_lookup",
    "modprobe": MUTEX
    + "some_init/some do_init_module load_module __do_sys_init_module",
    "encrypts": "schedule_timeout io_schedule_timeout mempool_alloc kcryptd_crypt/"
    "dm_crypt" + WORK,
    "inodes-mutex": MUTEX + "btrfs_delayed_update_inode/btrfs btrfs_update_inode/btrfs "
    "cow_file_range/btrfs extent_writepages/btrfs btrfs_run_delalloc_work/btrfs" + WORK,
    "flushes-inodes": "schedule schedule_timeout wait_for_completion "
    "start_delalloc_inodes/btrfs btrfs_start_delalloc_snapshot/btrfs "
    "try_flush_qgroup/btrfs __btrfs_qgroup_reserve_meta/btrfs "
    "btrfs_delayed_update_inode/btrfs btrfs_update_inode/btrfs",
    "reaps-sync": "schedule schedule_timeout wait_for_completion kthread_stop "
    "md_unregister_thread/md_mod md_reap_sync_thread/md_mod action_store/md_mod",
    "syncs": "schedule raid5_get_active_stripe/raid456 raid5_sync_request/raid456 "
    "md_do_sync/md_mod md_thread/md_mod",
    "swaps-table": "schedule schedule_timeout wait_for_completion __synchronize_srcu "
    "dm_swap_table/dm_mod dev_suspend/dm_mod ctl_ioctl/dm_mod",
    "in-table": "schedule schedule_timeout wait_for_completion perform_rpc/dm_era "
    "era_status/dm_era retrieve_status/dm_mod table_status/dm_mod ctl_ioctl/dm_mod",
    "frees-inode": "schedule schedule_timeout __down down xfs_buf_lock/xfs "
    "xfs_buf_find/xfs xfs_read_agf/xfs xfs_alloc_read_agf/xfs "
    "xfs_alloc_fix_freelist/xfs xfs_difree/xfs xfs_ifree/xfs",
    "allocates": "schedule schedule_timeout __down down xfs_buf_lock/xfs "
    "xfs_buf_find/xfs xfs_imap_to_bp/xfs xfs_trans_log_inode/xfs "
    "xfs_bmap_btalloc/xfs xfs_bmapi_write/xfs xfs_map_blocks/xfs",
    "pushes": "io_schedule xfs_buf_wait_unpin/xfs __xfs_buf_submit/xfs "
    "xfs_buf_delwri_submit_buffers/xfs xfsaild/xfs",
    "own-range": "schedule wait_extent_bit/btrfs lock_extent_bits/btrfs "
    "btrfs_lock_and_flush_ordered_range/btrfs extent_readahead/btrfs filemap_fault "
    "bio_iov_iter_get_pages __iomap_dio_rw iomap_dio_rw btrfs_file_read_iter/btrfs",
    "cpu-down": "schedule schedule_timeout wait_for_completion cpuhp_kick_ap _cpu_down",
    "shuts-client": "schedule schedule_timeout rpc_shutdown_client/sunrpc "
    "nfsd4_process_cb_update/nfsd" + WORK,
    "stops-thread": "schedule schedule_timeout wait_for_completion kthread_stop "
    "foo_exit/foo",
    "own-sync": "schedule md_do_sync/md_mod md_thread/md_mod kthread",
    "cipher": "schedule_timeout wait_for_completion crypt_convert/dm_crypt "
    "kcryptd_crypt/dm_crypt" + WORK,
    "connects": "schedule schedule_timeout wait_for_common "
    "nvme_fc_connect_ctrl_work/nvme_fc" + WORK,
    "enters-queue": "schedule __bio_queue_enter blk_mq_submit_bio __submit_bio "
    "ext4_mpage_readpages/ext4 filemap_fault",
    "dio-wait": "schedule inode_dio_wait ext4_fallocate/ext4 vfs_fallocate",
    "helped": "schedule schedule_timeout wait_for_completion call_usermodehelper_exec "
    "nfsd4_umh_cltrack_upcall/nfsd",
    "scrubs-on": "schedule scrub_simple_mirror/btrfs scrub_stripe/btrfs "
    "scrub_chunk/btrfs btrfs_scrub_dev/btrfs",
    "pauses-scrub": "schedule btrfs_scrub_pause/btrfs btrfs_commit_transaction/btrfs "
    "transaction_kthread/btrfs",
    "smb-write": WRITE + "cifs_strict_writev/cifs new_sync_write vfs_write",
    "in-smb-write": "io_schedule __lock_page grab_cache_page_write_begin "
    "cifs_write_begin/cifs generic_perform_write cifs_strict_writev/cifs vfs_write",
    "wants-dir-page": "io_schedule do_read_cache_page nfs_readdir/nfs iterate_dir",
    "reads-dir": "schedule rpc_wait_bit_killable/sunrpc __rpc_execute/sunrpc "
    "nfs4_proc_readdir/nfsv4 nfs_readdir_xdr_to_array/nfs nfs_readdir_filler/nfs "
    "do_read_cache_page nfs_readdir/nfs iterate_dir",
    "resumes": "schedule rpm_resume __pm_runtime_resume smp_execute_task_sg/libsas",
    "suspending": FLUSH + "sas_suspend_ha/libsas rpm_callback rpm_suspend rpm_idle",
    "resets-usb": MUTEX + "device_reset scsi_eh_ready_devs scsi_error_handler kthread",
    "usb-thread": "schedule schedule_timeout wait_for_completion usb_sg_wait "
    "usb_stor_Bulk_transport usb_stor_control_thread kthread",
    "frees-cluster": "schedule schedule_timeout schedule_timeout_uninterruptible "
    "xfs_ifree/xfs xfs_inactive_ifree/xfs xfs_inodegc_worker/xfs" + WORK,
    "aborts-flush": "schedule schedule_timeout __down_common down xfs_buf_lock/xfs "
    "xfs_iflush_shutdown_abort/xfs xfs_icwalk_ag/xfs",
    "moves": "schedule percpu_down_write cgroup_attach_lock __cgroup_procs_write",
}
LINKED = (
    ("remount", "syncfs", "s_umount"),
    ("mounts", "umounts", "whole file system"),
    ("renames", "renamed", "directory"),
    ("drains-too", "drains", "lock"),
    ("rmdir", "offlines", "cgroup_mutex"),
    ("show-attr", "store-attr", "sysfs_lock"),
    ("quota-sync", "quota-release", "quota_release_work"),
    ("quota-writes", "quota-inserts", "quotas"),
    ("scans", "probes", "scan_mutex"),
    ("module-flush", "module-work", "module"),
    ("fsync", "suspends", "resumed"),
    ("opens-tty", "in-tty", "inside the function"),
    # Who is on the way to a wake-up, in whatever function.
    ("counts-bios", "replaces", "wakes who waits for replace_wait"),
    ("wants-cache", "caches", "wakes who waits"),
    ("dev-stats", "replaces", "device_list_mutex"),
    ("removes-file", "in-file", "uses a file of sysfs"),
    ("built-in-flush", "bar-works", "module"),
    ("suspends-array", "in-array", "request to the array"),
    ("wants-block", "spins", "changes a tree"),
    ("ends-range", "dio-range", "begin of a range"),
    ("destroys-queue", "final-delete", "module that flushes"),
    ("asks-helper", "modprobe", "loads a module"),
    ("reaps-sync", "syncs", "thread that is to end"),
    ("notifies", "unbinds", "holding the device's lock"),
)
APART = (
    ("remount", "renamed"),
    ("drains", "drains-too"),
    ("reads-mounts", "reads-mounts-too"),
    # It releases chunk_mutex before it commits.
    ("block-group", "shrinks"),
    ("unknown", "syncfs"),
    ("module-flush", "other-work"),
    ("remount", "mounts"),
    ("nfs-fsync", "suspends"),
    ("quota-release", "quota-sync"),
    # It waits for the others before it wakes them.
    ("replaces", "counts-bios"),
    ("unbinds", "notifies"),
    # Its pages are on their way; the flusher has done what it was asked for.
    ("fdatawait", "flusher"),
)


def task(name: str, pid: int) -> Shown:
    """One of the stacks under its own name."""
    return Shown(name[:15], pid, STACKS[name])


@pytest.mark.parametrize(("waiter", "holder", "why"), LINKED)
def test_who_holds_it(waiter: str, holder: str, why: str) -> None:
    """In either order in the log."""
    one, other = task(waiter, 11), task(holder, 12)
    for first, second in ((one, other), (other, one)):
        answer = explained(first.report(), second.report())
        (link,) = answer.links.values()
        assert (link.waiter.task.pid, link.holder.task.pid) == (11, 12)
        assert link.confidence == POSSIBLE
        assert why in link.why


@pytest.mark.parametrize(("waiter", "holder"), APART)
def test_who_does_not(waiter: str, holder: str) -> None:
    one, other = task(waiter, 11), task(holder, 12)
    assert one.comm not in joined(one, other)


def test_a_queue_is_not_named() -> None:
    """drivers/md/raid5.c raid5_get_active_stripe() waits for one of two."""
    stack = "schedule raid5_get_active_stripe/raid456 raid5_make_request/raid456"
    text = sentence(explained(Shown("a", 11, stack).report()), "log")
    assert text.endswith("waits for a free stripe of an array.")


def test_two_that_fit_are_none() -> None:
    tasks = [task("renames", 11), task("renamed", 12), task("renamed", 13)]
    assert "renames" not in joined(*tasks)


def test_the_lock_is_named() -> None:
    """And so are the functions that may hold it."""
    answer = explained(task("rmdir", 11).report())
    assert "(cgroup_mutex)" in sentence(answer, "log")
    assert "__cgroup_procs_write()" in said(answer, root(answer))
    answer = explained(task("unknown", 11).report())
    assert "waits for a mutex in no_such_function()" in sentence(answer, "log")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("itself", "which it may be writing itself"),
        ("grace", "a grace period of RCU"),
        ("drains", "until each CPU has run a work"),
        ("module-flush", "until a work is done in foo_close()"),
        ("nothing", "something no rule knows in foo_sleeps()"),
        ("mounts", "until a file system is mounted or unmounted"),
        ("io-done", "until a SCSI host has recovered"),
        ("scsi-eh", "recovers a SCSI host"),
        ("repairs", "the lock of an XFS inode (ILOCK)"),
        ("scrubs", "(AGI)"),
        ("wants-agf", "(AGF)"),
        ("raises", "until what is under way has ended"),
        ("kept-out", "lets I/O in"),
        ("in-array", "that are in use, or before its reshape"),
        ("switches-ref", "a grace period of RCU"),
        ("swaps", "earlier bios of swap"),
        ("scans-host", "earlier scans of SCSI hosts"),
        ("bitmap-full", "a counter of an array's bitmap"),
        ("sync-ends", "the sync that it does"),
        ("resizes", "a free stripe of an array"),
        ("nfsd-session", "callbacks to a client of the NFS server"),
        ("nfsd-shuts", "callbacks to a client of the NFS server"),
        ("splits", "splits a block of a btree of XFS"),
        ("ail-rests", "pauses before it writes what the log of XFS holds"),
        ("logs-tree", "the log of a btrfs tree is written"),
        ("target-waits", "the commands of a SCSI target"),
        ("reads-file", "waits for the disk"),
        ("ring-ends", "the requests of its io_uring have ended"),
        ("reaps-sync", "sync has stopped"),
        ("own-sync", "the sync that it does"),
        ("resumes", "(runtime PM)"),
        ("frees-cluster", "frees a cluster of inodes"),
        ("cipher", "cipher of dm-crypt"),
        ("connects", "connects to an NVMe controller"),
        ("enters-queue", "a queue that is frozen"),
        ("dio-wait", "direct I/O to the file"),
        ("helped", "user-mode helper"),
        ("scrubs-on", "pauses until the commit"),
        ("swaps-table", "old table of a mapped device"),
        ("own-range", "its own direct I/O may hold"),
        ("dio-range", "another task has locked"),
        ("wants-block", "a block of a btrfs tree"),
        ("cpu-down", "hotplug thread"),
        ("shuts-client", "requests of an RPC client"),
        ("stops-thread", "a kernel thread has ended"),
        ("spins", "runs, or waits for a CPU, in btrfs_chunk_alloc()"),
        ("final-delete", "removes a SCSI target"),
        ("encrypts", "memory of a pool"),
        ("own-checkpoint", "that it makes itself"),
        ("shrinks-log", "inside a shrinker waits until the log of XFS"),
        ("removes-file", "nobody uses a file of sysfs"),
        ("metadata", "superblock or bitmap is written"),
        ("replaces", "until I/O under way has ended"),
    ],
)
def test_the_words(name: str, words: str) -> None:
    assert words in sentence(explained(task(name, 11).report()), "log")


@pytest.mark.parametrize(
    ("one", "other"), [("quiesces", "exits-queue"), ("unplugs-zone", "exits-queue")]
)
def test_who_is_inside_a_queue_that_freezes(one: str, other: str) -> None:
    """And waits for what the freeze, or its caller's lock, keeps it from."""
    assert joined(task(one, 11), task(other, 12)) == {
        one: (other, POSSIBLE),
        other: (one, POSSIBLE),
    }


def test_error_handling_and_forks() -> None:
    assert joined(task("io-done", 11), task("scsi-eh", 12))["io-done"][0] == "scsi-eh"
    assert joined(task("forks", 11), task("moves", 12))["forks"][0] == "moves"


def test_a_scrub_and_a_repair_in_a_circle() -> None:
    """fs/xfs/scrub/: each has what the other waits for; both waits are said."""
    both = task("scrubs", 11), task("repairs", 12)
    assert {name for name, _ in joined(*both).values()} == {"scrubs", "repairs"}
    text = sentence(explained(*(one.report() for one in both)), "log")
    assert "(AGI)" in text and "(ILOCK)" in text and "a guess" in text


def test_two_works_of_a_module() -> None:
    """A flush of their queue waits for both: the first is named."""
    works = [task("bar-works", 12), task("bar-works", 13)]
    flush = Shown("flush", 11, STACKS["built-in-flush"].replace("work ", "workqueue "))
    answer = explained(*(one.report() for one in (flush, *works)))
    (link,) = answer.links.values()
    assert (link.holder.task.pid, link.confidence) == (12, POSSIBLE)


def test_who_reclaims_memory_may_wait_for_an_array() -> None:
    """fs/xfs/xfs_icache.c xfs_reclaim_inode(): for the log, not for memory."""
    both = joined(task("shrinks-log", 11), task("array-thread", 12))
    assert both["shrinks-log"] == ("array-thread", POSSIBLE)
    assert both["array-thread"] == ("shrinks-log", POSSIBLE)


@pytest.mark.parametrize(
    ("waiter", "holder"),
    [
        ("waits-ordered", "runs-ordered"),
        ("resumes", "suspending"),
        ("resets-usb", "usb-thread"),
        ("frees-cluster", "aborts-flush"),
        ("aborts-flush", "frees-cluster"),
        ("wants-dir-page", "reads-dir"),
        ("scrubs-on", "pauses-scrub"),
        ("smb-write", "in-smb-write"),
        ("swaps-table", "in-table"),
        ("in-table", "swaps-table"),
        ("frees-inode", "allocates"),
        ("allocates", "frees-inode"),
        ("allocates", "pushes"),
        ("fdatawait", "ends-writeback"),
        ("in-writepages", "ends-writeback"),
        ("ends-writeback", "in-writepages"),
        ("shrinks-bufio", "loops"),
        ("loops", "shrinks-bufio"),
        ("flushes-inodes", "inodes-mutex"),
        ("inodes-mutex", "flushes-inodes"),
    ],
)
def test_who_waits_for_whom(waiter: str, holder: str) -> None:
    """The other one may wait, too."""
    assert joined(task(waiter, 11), task(holder, 12))[waiter][0] == holder
