# SPDX-License-Identifier: GPL-2.0-only
"""This test will link waiters with the threads, caches, queues and transactions that
the kernel's sources give, and with no other device's."""

from __future__ import annotations

import pytest

from log_stacks import Shown, assert_linked, explained, joined
from writestall.log.headline import sentence
from writestall.log.links import LIKELY, POSSIBLE, explain_log
from writestall.log.reading import read_log

THREAD = " kthread ret_from_fork"
WORK = " process_one_work worker_thread kthread"
AGF = "schedule down xfs_buf_lock/xfs xfs_read_agf/xfs xfs_alloc_read_agf/xfs "
AGI = "schedule down xfs_buf_lock/xfs xfs_read_agi/xfs "
FLUSHES = "schedule_timeout wait_for_completion __flush_work "
STACKS = {
    "bitmap-asks": "schedule wait_for_completion md_bitmap_unplug_async/md_mod "
    "flush_bio_list/raid1 raid1_unplug/raid1 raid1_make_request/raid1 submit_bio "
    "ext4_io_submit/ext4 ext4_writepages/ext4",
    "bitmap-works": "schedule md_super_wait/md_mod md_bitmap_unplug/md_mod "
    "md_bitmap_unplug_fn/md_mod process_one_work worker_thread kthread",
    "xfs-finobt": "schedule down xfs_buf_lock/xfs xfs_buf_find_lock/xfs "
    "xfs_trans_read_buf_map/xfs xfs_btree_lookup/xfs xfs_difree/xfs xfs_inactive/xfs",
    "xfs-writes": "schedule raid5_get_active_stripe/raid456 "
    "raid5_make_request/raid456 submit_bio_noacct xfs_buf_delwri_submit_buffers/xfs "
    "xfsaild/xfs kthread",
    "device-page": "io_schedule folio_wait_bit_common __folio_lock write_cache_pages "
    "blkdev_writepages do_writepages bdev_release blkdev_release __fput",
    "device-writes": "io_schedule rq_qos_wait wbt_wait blk_mq_submit_bio submit_bio "
    "submit_bh_wbc __block_write_full_folio write_cache_pages blkdev_writepages "
    "writeback_sb_inodes wb_workfn",
    "crypt-pool": "io_schedule_timeout mempool_alloc_noprof "
    "crypt_alloc_buffer/dm_crypt kcryptd_crypt_write_convert/dm_crypt process_one_work",
    "crypt-writes": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "dmcrypt_write/dm_crypt kthread",
    "nvme-scans": "schedule __mutex_lock nvme_scan_work/nvme_core process_one_work",
    "nvme-formats": "schedule __mutex_lock nvme_ns_remove/nvme_core "
    "nvme_remove_invalid_namespaces/nvme_core nvme_user_cmd/nvme_core nvme_dev_ioctl",
    "waits-inode": "schedule bit_wait __wait_on_bit __inode_wait_for_writeback "
    "writeback_single_inode sync_inode_metadata ext4_sync_file/ext4 iomap_dio_complete",
    "writes-inode": "io_schedule bit_wait_io __sync_dirty_buffer ext4_write_inode/ext4 "
    "__writeback_single_inode writeback_single_inode sync_inode_metadata "
    "ext4_sync_file/ext4 iomap_dio_complete",
    "xfs-flushes": "schedule __wait_for_common __flush_work xfs_flush_inodes/xfs "
    "xfs_create/xfs",
    "xfs-ends": "schedule down_write xfs_trans_alloc_inode/xfs "
    "xfs_iomap_write_unwritten/xfs xfs_end_ioend/xfs xfs_end_io/xfs process_one_work",
    "stops-mmp": "schedule_timeout wait_for_completion kthread_stop ext4_stop_mmpd "
    "ext4_put_super generic_shutdown_super",
    "mmp": "schedule percpu_rwsem_wait __percpu_down_read write_mmp_block/ext4 "
    "kmmpd/ext4" + THREAD,
    "stops-ail": "schedule_timeout wait_for_completion kthread_stop/xfs "
    "xfs_trans_ail_destroy/xfs xfs_log_unmount/xfs",
    "throttled": "schedule_timeout io_schedule_timeout congestion_wait "
    "throttle_vm_writeout shrink_zone kswapd kthread",
    "loop-begins": "__down journal_begin reiserfs_dirty_inode do_bio_filebacked/loop "
    "loop_thread/loop kthread",
    "commits-and-reclaims": "schedule_timeout congestion_wait throttle_vm_writeout "
    "try_to_free_pages __getblk do_journal_end/reiserfs sync_supers pdflush",
    "needs-worker": "schedule_timeout wait_for_completion_killable "
    "__kthread_create_on_node kthread_create_on_node create_worker worker_thread "
    "kthread",
    "starts-threads": "io_schedule folio_wait_bit_common shrink_folio_list "
    "try_to_free_pages copy_process kernel_thread kthreadd ret_from_fork",
    "ail": "schedule down xfs_buf_lock/xfs xfsaild_push/xfs xfsaild/xfs" + THREAD,
    "stores-wc": "schedule __mutex_lock queue_wc_store queue_attr_store "
    "kernfs_fop_write_iter",
    "revalidates": "schedule blk_queue_enter blk_mq_alloc_request scsi_execute_cmd "
    "sd_read_capacity/sd_mod sd_revalidate_disk/sd_mod sd_open/sd_mod",
    "bcache-thread": "schedule rwsem_down_write_slowpath down_write "
    "bch_writeback_thread/bcache" + THREAD,
    "bcache-reads": "schedule __closure_sync read_dirty/bcache "
    "bch_writeback_thread/bcache" + THREAD,
    "bcache-write": "schedule rwsem_down_read_slowpath down_read cached_dev_write/"
    "bcache cached_dev_submit_bio/bcache submit_bio_noacct",
    "bcache-insert": "schedule bch_bucket_alloc/bcache __bch_bucket_alloc_set/bcache "
    "bch_data_insert_start/bcache" + WORK,
    "bcache-rate": "schedule rwsem_down_read_slowpath down_read update_writeback_rate/"
    "bcache" + WORK,
    "bcache-alloc": "schedule __mutex_lock bch_prio_write/bcache "
    "bch_allocator_thread/bcache" + THREAD,
    "evicts-ea": "schedule mb_cache_entry_wait_unused ext4_evict_ea_inode evict "
    "ext4_xattr_set_entry",
    "finds-ea": "schedule __wait_on_freeing_inode find_inode_fast __ext4_iget "
    "ext4_xattr_inode_cache_find ext4_xattr_set_entry",
    "xfs-allocates": AGF + "xfs_ialloc_ag_alloc/xfs xfs_dialloc/xfs xfs_create/xfs",
    "xfs-unlinks": AGI + "xfs_iunlink/xfs xfs_remove/xfs xfs_vn_unlink/xfs",
    "xfs-frees": AGI + "xfs_iunlink_remove/xfs xfs_ifree/xfs xfs_inactive/xfs",
    "f2fs-writes": "schedule rwsem_down_write_slowpath __write_checkpoint_sync/f2fs "
    "issue_checkpoint_thread/f2fs" + THREAD,
    "f2fs-gc": "io_schedule __folio_lock do_garbage_collect/f2fs f2fs_gc/f2fs "
    "gc_thread_func/f2fs" + THREAD,
    "f2fs-awaits-gc": "io_schedule f2fs_balance_fs/f2fs f2fs_map_blocks/f2fs "
    "f2fs_fallocate/f2fs vfs_fallocate",
    "f2fs-freezes": "schedule percpu_rwsem_wait percpu_down_write sb_wait_write "
    "freeze_super fs_bdev_freeze bdev_freeze f2fs_do_shutdown/f2fs",
    "maps": "schedule rwsem_down_write_slowpath down_write vm_mmap_pgoff sys_mmap",
    "unmaps": "schedule rwsem_down_write_slowpath down_write i_mmap_lock_write "
    "__hugetlb_zap_begin unmap_vmas do_vmi_munmap __vm_munmap",
    "drains-cgroup": "schedule cgroup_lock_and_drain_offline cgroup_kn_lock_live",
    "css-offline": "schedule flush_work css_killed_work_fn process_one_work kthread",
    "mounts-gfs2": "schedule bit_wait __wait_on_bit gfs2_recover_journal/gfs2 "
    "gfs2_fill_super/gfs2",
    "recovers-gfs2": "io_schedule folio_wait_locked gfs2_find_jhead/gfs2 "
    "gfs2_recover_func/gfs2 process_one_work",
    "f2fs-locks": "schedule rwsem_down_write_slowpath f2fs_write_checkpoint/f2fs "
    "f2fs_sync_fs/f2fs do_fsync",
    "f2fs-adds": "schedule rwsem_down_write_slowpath f2fs_add_regular_entry/f2fs "
    "f2fs_rename2/f2fs vfs_rename",
    "f2fs-isem": "schedule rwsem_down_write_slowpath f2fs_rename2/f2fs vfs_rename",
    "f2fs-op": "schedule rwsem_down_read_slowpath f2fs_create/f2fs path_openat",
    "md-sync": "schedule md_do_sync/md_mod md_thread/md_mod" + THREAD,
    "md-works": "schedule raid5d/raid456 md_thread/md_mod" + THREAD,
    "btrfs-range": "schedule wait_extent_bit/btrfs lock_extent/btrfs "
    "btrfs_invalidate_folio/btrfs extent_writepage/btrfs btrfs_writepages/btrfs",
    "btrfs-clones": "schedule try_flush_qgroup/btrfs start_transaction/btrfs "
    "clone_copy_inline_extent/btrfs btrfs_clone/btrfs",
    "btrfs-reserves": "schedule try_flush_qgroup/btrfs btrfs_check_data_free_space/"
    "btrfs btrfs_buffered_write/btrfs btrfs_file_write_iter/btrfs",
    "probes": "schedule __mutex_lock my_probe/mydisk blk_request_module "
    "blkdev_get_no_open",
    "leaves": "schedule __mutex_lock unregister_blkdev my_exit/mydisk "
    "__x64_sys_delete_module",
    "zeroes": "schedule_timeout io_schedule_timeout submit_bio_wait "
    "blkdev_issue_zeroout ext4_init_inode_table",
    "rescans": "schedule blk_queue_enter scsi_execute_cmd scsi_attach_vpd "
    "scsi_rescan_device ata_scsi_dev_rescan" + WORK,
    "deletes": "schedule __mutex_lock device_del scsi_remove_target",
    "nvme-timeout": "schedule_timeout wait_for_completion __flush_work "
    "nvme_tcp_timeout/nvme_tcp blk_mq_timeout_work" + WORK,
    "nvme-recovers": "schedule rwsem_down_read_slowpath nvme_quiesce_io_queues/"
    "nvme_core nvme_tcp_error_recovery_work/nvme_tcp" + WORK,
    "nvme-live": "schedule_timeout wait_for_completion __synchronize_srcu "
    "nvme_mpath_set_live/nvme_core nvme_ana_work/nvme_core" + WORK,
    "nvme-head": "schedule blk_queue_enter submit_bio_noacct nvme_ns_head_submit_bio/"
    "nvme_core iomap_dio_bio_iter",
    "dm-syncs": "schedule_timeout wait_for_completion_io sync_io/dm_mod dm_io/dm_mod "
    "commit_metadata/dm_thing",
    "bcache-uuids": "schedule __closure_sync __uuid_write/bcache bch_uuid_write/bcache",
    "smb-reopens": "schedule rwsem_down_read_slowpath cifs_reopen_file/cifs "
    "cifs_readpage/cifs generic_file_read_iter cifs_strict_readv/cifs vfs_read",
    "smb-closes": "schedule rwsem_down_write_slowpath _cifsFileInfo_put/cifs "
    "cifs_close/cifs __fput",
    "smb-launders": "schedule schedule_timeout msleep _cifsFileInfo_put/cifs "
    "cifs_writepage_locked/cifs cifs_launder_page/cifs cifs_d_revalidate/cifs "
    "path_openat do_filp_open",
    "smb-flushes": "io_schedule wait_on_page_bit __filemap_fdatawait_range "
    "cifs_flush/cifs filp_close",
    "smb-lists": "schedule rwsem_down_read_slowpath down_read_killable iterate_dir "
    "ksys_getdents64",
    "xfs-unpins": "schedule down xfs_buf_lock xfs_buf_item_unpin xlog_cil_committed "
    "xlog_cil_push_work" + WORK,
    "xfs-ioend": "schedule __flush_workqueue xlog_cil_force_seq xfs_log_force "
    "xfs_buf_ioend_handle_error xfs_buf_ioend_work" + WORK,
    "syncs-cache": "schedule_timeout wait_for_completion_io_timeout "
    "blk_execute_rq __scsi_execute sd_sync_cache sd_shutdown",
    "scsi-recovers": "schedule iscsi_eh_session_reset/libiscsi scsi_eh_ready_devs "
    "scsi_error_handler" + THREAD,
    "nbd-connects": "schedule __mutex_lock nbd_genl_connect genl_rcv_msg",
    "nbd-removes": "schedule __mutex_lock del_gendisk nbd_dev_remove nbd_put "
    "blkdev_put_whole blkdev_put",
    "fast-commits": "schedule ext4_fc_commit ext4_sync_file do_fsync",
    "fast-updates": "schedule jbd2_log_wait_commit __jbd2_journal_force_commit "
    "ext4_should_retry_alloc ext4_da_write_begin generic_perform_write",
    "jbd2-commits": "schedule jbd2_journal_commit_transaction kjournald2" + THREAD,
    "btrfs-faults": "schedule wait_extent_bit/btrfs lock_extent/btrfs "
    "btrfs_page_mkwrite/btrfs do_page_mkwrite handle_mm_fault extent_fiemap/btrfs "
    "btrfs_fiemap/btrfs",
    "finds-page": "io_schedule folio_wait_bit_common folio_lock __find_get_block_slow "
    "bdev_getblk __ext4_get_inode_loc",
    "reads-page": "io_schedule bit_wait_io __lock_buffer block_read_full_folio "
    "filemap_read_folio blkdev_read_iter",
    "bcache-gets": "schedule rwsem_down_write_slowpath bch_btree_node_get/bcache "
    "bch_btree_map_nodes_recurse/bcache",
    "bcache-inserts": "schedule __mutex_lock bch_btree_insert_node/bcache "
    "btree_insert_fn/bcache bch_btree_map_nodes_recurse/bcache",
    "bcache-node": "schedule down __bch_btree_node_write/bcache "
    "btree_node_write_work/bcache" + WORK,
    "rbd-request": "schedule rwsem_down_read_slowpath down_read rbd_img_handle_request/"
    "rbd ceph_con_workfn/libceph" + WORK,
    "rbd-watch": "schedule_timeout wait_for_completion rbd_quiesce_lock/rbd "
    "rbd_reregister_watch/rbd" + WORK,
    "gfs2-begins": "schedule rwsem_down_read_slowpath __gfs2_trans_begin "
    "gfs2_statfs_sync gfs2_quotad" + THREAD,
    "gfs2-logd": "schedule rwsem_down_write_slowpath gfs2_log_flush gfs2_logd" + THREAD,
    "gfs2-flushes": "io_schedule folio_wait_writeback empty_ail1_list gfs2_log_flush "
    "gfs2_kill_sb",
    "btrfs-caches": "schedule rwsem_down_read_slowpath __btrfs_tree_read_lock/btrfs "
    "btrfs_read_lock_root_node/btrfs caching_thread/btrfs" + WORK,
    "btrfs-no-space": "schedule btrfs_wait_block_group_cache_progress/btrfs "
    "find_free_extent/btrfs __btrfs_cow_block/btrfs btrfs_search_slot/btrfs",
    "btrfs-names": "schedule __mutex_lock btrfs_show_devname/btrfs show_mountinfo",
    "btrfs-supers": "schedule wait_for_completion write_all_supers/btrfs "
    "btrfs_commit_transaction/btrfs transaction_kthread/btrfs" + THREAD,
    "pci-resets": FLUSHES + "pci_reset_function reset_store",
    "nvme-resets": "schedule blk_mq_freeze_queue_wait nvme_wait_freeze/nvme_core "
    "nvme_reset_work/nvme" + WORK,
    "genl-waits": "schedule __mutex_lock genl_op_lock genl_rcv_msg",
    "genl-flushes": FLUSHES + "my_disconnect/nbd genl_family_rcv_msg_doit genl_rcv_msg",
    "f2fs-asks": "schedule wait_for_completion f2fs_issue_checkpoint/f2fs "
    "f2fs_balance_fs_bg/f2fs",
    "raid-pages": "io_schedule folio_wait_writeback truncate_inode_pages_range "
    "ext4_evict_inode evict",
}
LINKED = (
    ("stops-mmp", "mmp", LIKELY),
    ("stops-ail", "ail", LIKELY),
    ("needs-worker", "starts-threads", LIKELY),
    ("throttled", "loop-begins", POSSIBLE),
    ("commits-and-reclaims", "loop-begins", POSSIBLE),
    ("loop-begins", "commits-and-reclaims", LIKELY),
    ("stores-wc", "revalidates", POSSIBLE),
    ("revalidates", "stores-wc", POSSIBLE),
    ("bcache-thread", "bcache-insert", POSSIBLE),
    ("bcache-write", "bcache-thread", POSSIBLE),
    ("bcache-rate", "bcache-reads", POSSIBLE),
    ("bcache-insert", "bcache-alloc", POSSIBLE),
    ("evicts-ea", "finds-ea", POSSIBLE),
    ("xfs-allocates", "xfs-unlinks", POSSIBLE),
    ("f2fs-writes", "f2fs-gc", POSSIBLE),
    ("f2fs-awaits-gc", "f2fs-gc", POSSIBLE),
    ("f2fs-freezes", "f2fs-awaits-gc", POSSIBLE),
    ("maps", "unmaps", POSSIBLE),
    ("drains-cgroup", "css-offline", POSSIBLE),
    ("mounts-gfs2", "recovers-gfs2", POSSIBLE),
    ("f2fs-locks", "f2fs-adds", POSSIBLE),
    ("f2fs-op", "f2fs-locks", LIKELY),
    ("md-sync", "md-works", LIKELY),
    ("btrfs-range", "btrfs-clones", POSSIBLE),
    ("probes", "leaves", POSSIBLE),
    ("zeroes", "md-works", POSSIBLE),
    ("smb-closes", "smb-reopens", POSSIBLE),
    ("smb-reopens", "smb-closes", POSSIBLE),
    ("smb-flushes", "smb-launders", POSSIBLE),
    ("smb-lists", "smb-launders", POSSIBLE),
    ("xfs-unpins", "xfs-ioend", POSSIBLE),
    ("syncs-cache", "scsi-recovers", POSSIBLE),
    ("nbd-connects", "nbd-removes", POSSIBLE),
    ("fast-commits", "fast-updates", POSSIBLE),
    ("jbd2-commits", "fast-commits", POSSIBLE),
    ("fast-updates", "jbd2-commits", LIKELY),
    ("btrfs-range", "btrfs-faults", POSSIBLE),
    ("finds-page", "reads-page", POSSIBLE),
    ("bcache-gets", "bcache-inserts", POSSIBLE),
    ("bcache-inserts", "bcache-node", POSSIBLE),
    ("rbd-request", "rbd-watch", POSSIBLE),
    ("rbd-watch", "rbd-request", POSSIBLE),
    ("gfs2-begins", "gfs2-flushes", POSSIBLE),
    ("gfs2-begins", "gfs2-logd", POSSIBLE),
    ("bitmap-asks", "bitmap-works", LIKELY),
    ("xfs-finobt", "xfs-writes", POSSIBLE),
    ("device-page", "device-writes", POSSIBLE),
    ("crypt-pool", "crypt-writes", POSSIBLE),
    ("nvme-scans", "nvme-formats", POSSIBLE),
    ("waits-inode", "writes-inode", POSSIBLE),
    ("btrfs-no-space", "btrfs-caches", POSSIBLE),
    ("btrfs-caches", "btrfs-no-space", POSSIBLE),
    ("btrfs-names", "btrfs-supers", POSSIBLE),
    ("pci-resets", "nvme-resets", POSSIBLE),
    ("genl-waits", "genl-flushes", POSSIBLE),
    ("f2fs-asks", "f2fs-writes", LIKELY),
    ("dm-syncs", "md-works", POSSIBLE),
    ("bcache-uuids", "md-works", POSSIBLE),
    ("deletes", "rescans", POSSIBLE),
    ("nvme-timeout", "nvme-recovers", LIKELY),
    ("nvme-live", "nvme-head", POSSIBLE),
)
APART = (
    ("zeroes", "md-sync"),
    ("nvme-live", "nvme-recovers"),
    # It waits for updates of inodes, not for the full commit.
    ("fast-commits", "jbd2-commits"),
    # A worker writes the bitmap, not the array's thread.
    ("bitmap-asks", "md-works"),
    # It waits for a work that writes all inodes, not for one of these.
    ("xfs-flushes", "xfs-ends"),
    # It waits for the log's lock itself.
    ("stops-mmp", "ail"),
    ("stops-ail", "mmp"),
    ("xfs-allocates", "xfs-frees"),
    ("bcache-insert", "bcache-rate"),
    # The one wants i_sem: f2fs_lock_op() takes cp_rwsem for reading.
    ("f2fs-isem", "f2fs-locks"),
    ("btrfs-range", "btrfs-reserves"),
    # Of two devices.
    ("bcache-thread", "bcache-reads"),
)


def task(name: str, pid: int) -> Shown:
    """One of the stacks under its own name."""
    return Shown(name[:15], pid, STACKS[name])


@pytest.mark.parametrize(("waiter", "holder", "confidence"), LINKED)
def test_who_can_hold_it(waiter: str, holder: str, confidence: str) -> None:
    assert_linked(task(waiter, 11), task(holder, 12), confidence)


@pytest.mark.parametrize(("waiter", "holder"), APART)
def test_who_cannot(waiter: str, holder: str) -> None:
    one, other = task(waiter, 11), task(holder, 12)
    assert one.comm not in joined(one, other)


def test_a_clone_is_found_beside_a_write_that_has_not_locked_its_range() -> None:
    rows = (task("btrfs-range", 11), task("btrfs-clones", 12))
    links = joined(*rows, task("btrfs-reserves", 13))
    assert links["btrfs-range"] == ("btrfs-clones", POSSIBLE)


def test_threads_of_several_devices_are_no_holders_of_a_modules_lock() -> None:
    """Each has a lock of its own, and nothing says whose the waiter's is."""
    waiter = Shown("mine", 11, "schedule __mutex_lock my_ioctl/mydisk vfs_ioctl")
    threads = [
        Shown(
            f"mydisk/{pid}",
            pid,
            "io_schedule submit_bio_wait my_thread/mydisk" + THREAD,
        )
        for pid in (21, 22)
    ]
    assert joined(waiter, threads[0])["mine"] == ("mydisk/21", POSSIBLE)
    assert "mine" not in joined(waiter, *threads)


def test_a_work_that_the_kernel_names_counts_where_its_stack_is_cut_off() -> None:
    cut = Shown("kworker/9:1", 12, "schedule md_bitmap_startwrite/md_mod")
    whole = Shown("kworker/9:1", 12, cut.stack, "kcryptd-252:3-1 kcryptd_crypt")
    assert not joined(task("raid-pages", 11), cut)
    links = joined(task("raid-pages", 11), whole)
    assert links["raid-pages"] == ("kworker/9:1", POSSIBLE)


def test_who_is_past_the_lock_of_a_function_of_proc() -> None:
    """/proc/PID/stack shows no function of sleeping: the innermost takes the lock."""
    reopens = "[<0>] cifs_reopen_file+0x9b/0x1a0 [cifs]\n[<0>] vfs_read+0x9b/0x2a0\n\n"
    waits = "# cat /proc/71/stack\n" + reopens
    past = "# cat /proc/72/stack\n[<0>] cifs_posix_open+0x59/0xf0 [cifs]\n" + reopens
    answer = explain_log(read_log((waits + past).splitlines()))
    pairs = {
        link.waiter.task.pid: link.holder.task.pid for link in answer.links.values()
    }
    assert pairs == {71: 72}
    assert "mutex" not in sentence(explained(waits.splitlines()), "log")


def test_an_owner_that_only_a_quoted_list_names_is_of_the_same_moment() -> None:
    """What stands in the mail that quotes the stacks is of their moment."""
    lock = "ffff888000000a10 (&ctx->uring_lock){+.+.}-{3:3}, at: "
    text = [
        *Shown("closes", 11, "schedule __mutex_lock io_ring_exit").report(),
        "1 lock held by closes/11:",
        f" #0: {lock}io_ring_exit+0x1f/0x90",
        "1 lock held by works/12:",
        f" #0: {lock}task_work+0x1f/0x90",
    ]
    links = explained([f"> {line}" for line in text]).links
    assert [link.holder.name for link in links.values()] == ["works/12"]


def test_of_several_lists_that_end_in_a_lock_none_is_its_owners() -> None:
    """A task lists a lock that it waits for, too; without its stack nobody knows."""
    lock = "ffff888000000a10 (nfsd_mutex){+.+.}-{3:3}, at: set_doit+0x1f/0x90"
    text = Shown("sets", 11, "schedule __mutex_lock set_doit netlink_unicast").report()
    for name in ("sets/11", "one/21", "other/22"):
        text += [f"1 lock held by {name}:", f" #0: {lock}"]
    assert not explained(text).links
    more = [f" #1: {lock}".replace("a10 (nfsd_mutex)", "b20 (rtnl_mutex)")]
    (link,) = explained([*text, *more]).links.values()
    assert link.holder.name == "other/22"


@pytest.mark.parametrize(("more", "linked"), [(7, True), (8, False), (9, True)])
def test_of_ten_reports_others_may_hang(more: int, linked: bool) -> None:
    """kernel/hung_task.c sysctl_hung_task_warnings: the kernel reports ten by itself,
    and a directory's lock may be any task's."""
    waits = Shown("waits", 1, "schedule down_write do_unlinkat __x64_sys_unlink")
    unlinks = Shown("unlinks", 2, "schedule foo_wait foo_unlink vfs_unlink do_unlinkat")
    others = (Shown("waits", 10 + at, waits.stack) for at in range(more))
    assert ("waits" in joined(waits, unlinks, *others)) is linked


def test_of_two_that_may_have_a_files_lock_none_is_given() -> None:
    """fs/btrfs/reflink.c btrfs_remap_file_range() has the locks of two files."""
    program = [
        "schedule rwsem_down_write_slowpath down_write lock_two_nondirectories "
        "btrfs_remap_file_range/btrfs",
        "schedule wait_current_trans/btrfs start_transaction/btrfs btrfs_clone/btrfs "
        "btrfs_extent_same_range/btrfs btrfs_remap_file_range/btrfs",
        "schedule wait_current_trans/btrfs start_transaction/btrfs btrfs_setattr/btrfs "
        "notify_change do_truncate",
    ]
    tasks = [Shown(f"crawl_{pid}", pid, stack) for pid, stack in enumerate(program, 1)]
    assert joined(*tasks[:2]) == {"crawl_1": ("crawl_2", POSSIBLE)}
    assert joined(*tasks) == {}


def test_a_work_that_its_stack_does_not_show_is_the_one_that_the_kernel_names() -> None:
    """It has called its function as its last, and waits for itself."""
    waits = Shown("ioctl", 1, "schedule __cancel_work_timer wait_til_done fd_ioctl")
    stack = (
        "schedule __flush_work __cancel_work_timer fd_watchdog floppy_ready "
        "recal_interrupt process_one_work worker_thread"
    )
    work = Shown("kworker/u16:3", 2, stack, "floppy floppy_work_workfn")
    assert joined(waits, work)["ioctl"] == ("kworker/u16:3", POSSIBLE)


def test_a_buffer_of_xfs_above_a_loop_device() -> None:
    """fs/xfs/xfs_buf.c xfs_buf_iowait() sleeps for a completion, not for I/O."""
    reads = Shown("mount", 1, "schedule_timeout wait_for_completion xfs_buf_iowait/xfs")
    stack = "io_schedule folio_wait_bit_common loop_process_work process_one_work"
    works = Shown("kworker/u9:2", 2, stack, "loop5 loop_rootcg_workfn")
    assert joined(reads, works)["mount"] == ("kworker/u9:2", POSSIBLE)


def test_two_that_freeze_have_two_file_systems() -> None:
    """fs/super.c freeze_super(): one at a time waits for writers of a superblock."""
    freezes = (task("f2fs-freezes", 11), task("f2fs-freezes", 12))
    assert "f2fs-freezes" not in joined(*freezes, task("f2fs-awaits-gc", 13))


@pytest.mark.parametrize(("thread", "linked"), [("254:55", True), ("253:55", False)])
def test_a_name_that_is_cut_off_may_have_any_minor(thread: str, linked: bool) -> None:
    """include/linux/sched.h TASK_COMM_LEN: f2fs_ckpt-254:5 may be that of 254:55."""
    waits = Shown("f2fs_ckpt-254:5", 11, STACKS["f2fs-writes"])
    holds = Shown(f"f2fs_gc-{thread}", 12, STACKS["f2fs-gc"])
    assert ("f2fs_ckpt-254:5" in joined(waits, holds)) is linked


@pytest.mark.parametrize(("number", "linked"), [("259:0", True), ("8:32", False)])
def test_a_flusher_has_the_disks_number_and_f2fs_a_partitions(
    number: str, linked: bool
) -> None:
    """block/genhd.c blk_alloc_ext_minor(): partitions of an NVMe disk have major 259,
    and any minor."""
    work = f"writeback wb_workfn (flush-{number})"
    asks = Shown("kworker/u9:1", 11, STACKS["f2fs-asks"], work)
    thread = Shown("f2fs_ckpt-259:4", 12, STACKS["f2fs-writes"])
    assert ("kworker/u9:1" in joined(asks, thread)) is linked
