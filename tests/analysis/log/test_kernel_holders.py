# SPDX-License-Identifier: GPL-2.0-only
"""This test will link waiters with holders that the kernel's sources alone give: works
that are flushed, frozen file systems, superblocks, disks that open, servers."""

from __future__ import annotations

import pytest

from log_stacks import Shown, assert_linked, explained, joined, named
from writestall.log.headline import sentence
from writestall.log.links import LIKELY, POSSIBLE

FLUSH = "schedule schedule_timeout __wait_for_common __flush_work "
WORK = " process_one_work worker_thread kthread"
STACKS = {
    "nvme-sync": FLUSH + "flush_work nvme_reset_ctrl_sync/nvme_core nvme_dev_ioctl/"
    "nvme_core __x64_sys_ioctl",
    "nvme-reset": "schedule blk_mq_freeze_queue_wait nvme_wait_freeze/nvme_core "
    "nvme_reset_work/nvme" + WORK,
    "nvme-scan": "schedule rwsem_down_write_slowpath down_write nvme_alloc_ns/"
    "nvme_core nvme_scan_ns/nvme_core nvme_scan_work/nvme_core" + WORK,
    "nvme-remove": FLUSH
    + "flush_work nvme_remove_namespaces/nvme_core nvme_remove/nvme",
    "bdi-gone": FLUSH + "flush_delayed_work wb_shutdown bdi_unregister del_gendisk",
    "flusher": "io_schedule blk_mq_get_tag submit_bio_noacct blkdev_writepages "
    "writeback_sb_inodes wb_workfn" + WORK,
    "blocks-events": FLUSH + "__cancel_work_sync cancel_delayed_work_sync "
    "disk_block_events bdev_open",
    "checks-events": "schedule blk_execute_rq scsi_execute_cmd/scsi_mod "
    "sd_check_events/sd_mod disk_check_events disk_events_workfn" + WORK,
    "drains-lru": FLUSH + "__lru_add_drain_all lru_add_drain_all madvise_collapse",
    "lru": "io_schedule folio_wait_writeback lru_add_drain_per_cpu" + WORK,
    "ext4-put": FLUSH + "flush_work ext4_put_super/ext4 generic_shutdown_super",
    "ext4-update": "io_schedule __wait_on_buffer ext4_commit_super/ext4 "
    "update_super_work/ext4" + WORK,
    "thin-suspends": FLUSH + "__flush_workqueue pool_postsuspend/dm_thin_pool",
    "thin": "io_schedule submit_bio_wait dm_bufio_write/dm_bufio do_worker/dm_thin_pool"
    + WORK,
    "writes": "schedule percpu_rwsem_wait __percpu_down_read vfs_write ksys_write",
    "creates": "schedule percpu_rwsem_wait __percpu_down_read mnt_want_write "
    "filename_create",
    "freezes": "io_schedule folio_wait_writeback sync_filesystem freeze_super",
    "drops": "schedule percpu_rwsem_wait __percpu_down_read xfs_trans_alloc/xfs "
    "xfs_free_eofblocks/xfs evict prune_icache_sb super_cache_scan do_shrink_slab",
    "thaws": "schedule rwsem_down_write_slowpath down_write thaw_super do_vfs_ioctl",
    "umounts": "schedule rwsem_down_write_slowpath down_write deactivate_super "
    "cleanup_mnt",
    "syncs": "io_schedule folio_wait_writeback sync_inodes_one_sb iterate_supers "
    "ksys_sync",
    "fsync": "io_schedule folio_wait_writeback __filemap_fdatawait_range "
    "file_write_and_wait_range ext4_sync_file/ext4 do_fsync",
    "nfs-fsync": "io_schedule folio_wait_writeback nfs_file_fsync/nfs do_fsync",
    "thin-work": "schedule down_write dm_pool_commit_metadata/dm_thin_pool "
    "do_worker/dm_thin_pool" + WORK,
    "raid-work": "schedule md_super_wait/md_mod raid5d/raid456 md_thread/md_mod",
    "raid-sync": "schedule raid5_get_active_stripe/raid456 raid5_sync_request/raid456 "
    "md_do_sync/md_mod md_thread/md_mod kthread",
    "fsync-too": "io_schedule blk_mq_get_tag submit_bio_noacct iomap_submit_ioend "
    "xfs_vm_writepages/xfs do_writepages file_write_and_wait_range xfs_file_fsync/xfs",
    "xfs-fsync": "io_schedule folio_wait_writeback __filemap_fdatawait_range "
    "file_write_and_wait_range xfs_file_fsync/xfs do_fsync",
    "xfs-flusher": "io_schedule blk_mq_get_tag submit_bio_noacct iomap_submit_ioend "
    "xfs_vm_writepages/xfs do_writepages writeback_sb_inodes wb_workfn" + WORK,
    "freezes-writers": "schedule percpu_down_write freeze_super do_vfs_ioctl",
    "in-write": "io_schedule folio_wait_writeback ext4_write_begin/ext4 "
    "generic_perform_write ext4_file_write_iter/ext4 vfs_write ksys_write",
    "submits": "schedule percpu_rwsem_wait __percpu_down_read io_write io_issue_sqe "
    "io_submit_sqes __x64_sys_io_uring_enter",
    "encrypts": "schedule schedule_timeout wait_for_completion fscrypt_crypt_block "
    "ext4_bio_write_folio do_writepages",
    "opens-disk": "schedule mutex_lock bdev_open blkdev_open do_dentry_open",
    "closes-disk": "io_schedule folio_wait_writeback sync_blockdev "
    "blkdev_flush_mapping bdev_release blkdev_release",
    "deletes-disk": "schedule mutex_lock del_gendisk sd_remove/sd_mod device_release",
    "nfs-open": "schedule nfs_wait_bit_killable/nfs __wait_on_bit "
    "nfs4_wait_clnt_recover/nfsv4 nfs4_file_open/nfsv4 path_openat",
    "nfs-manager": "schedule rpc_wait_bit_killable/sunrpc __rpc_execute/sunrpc "
    "nfs4_proc_exchange_id/nfsv4 nfs4_state_manager/nfsv4 nfs4_run_state_manager/nfsv4",
    "nfs-idle": "schedule nfs4_run_state_manager/nfsv4 kthread",
    "copies-up": "io_schedule folio_wait_writeback ext4_sync_file/ext4 ovl_copy_up_file"
    "/overlay ovl_do_copy_up/overlay ovl_copy_up_flags/overlay",
    "waits-copy-up": "schedule mutex_lock_interruptible ovl_inode_lock_interruptible"
    "/overlay ovl_copy_up_start/overlay ovl_copy_up_flags/overlay",
    "asks-fuse": "schedule request_wait_answer/fuse fuse_simple_request/fuse "
    "fuse_lookup_name/fuse",
    "serves-fuse": "schedule mutex_lock fuse_dev_do_write/fuse fuse_dev_write/fuse "
    "vfs_writev",
    "waits-oom": "schedule mem_cgroup_oom_synchronize pagefault_out_of_memory",
    "kills-oom": "schedule down_read oom_kill_process out_of_memory",
    "freezes-queue": "schedule blk_mq_freeze_queue_wait elevator_switch "
    "elv_iosched_store",
    "has-no-tag": "io_schedule blk_mq_get_tag __blk_mq_alloc_requests "
    "blk_mq_submit_bio submit_bio_noacct",
    "f2fs-pause": "io_schedule_timeout congestion_wait f2fs_write_multi_pages/f2fs "
    "f2fs_write_cache_pages/f2fs do_writepages wb_workfn",
    "f2fs-checkpoint": "schedule rwsem_down_write_slowpath block_operations/f2fs "
    "f2fs_write_checkpoint/f2fs f2fs_sync_fs/f2fs do_fsync",
    "f2fs-chown": "io_schedule __lock_page f2fs_write_begin/f2fs f2fs_quota_write/f2fs "
    "dquot_transfer f2fs_setattr/f2fs notify_change",
}
LINKED = (
    ("nvme-sync", "nvme-reset", LIKELY),
    ("nvme-scan", "nvme-reset", POSSIBLE),
    ("nvme-remove", "nvme-scan", LIKELY),
    ("bdi-gone", "flusher", POSSIBLE),
    ("blocks-events", "checks-events", LIKELY),
    ("drains-lru", "lru", LIKELY),
    ("ext4-put", "ext4-update", LIKELY),
    ("thin-suspends", "thin", LIKELY),
    ("writes", "freezes", POSSIBLE),
    ("creates", "freezes", POSSIBLE),
    ("drops", "freezes", POSSIBLE),
    ("writes", "thaws", POSSIBLE),
    ("thaws", "drops", POSSIBLE),
    ("umounts", "syncs", POSSIBLE),
    ("umounts", "drops", POSSIBLE),
    ("fsync", "thin-work", POSSIBLE),
    ("fsync", "raid-work", POSSIBLE),
    ("opens-disk", "closes-disk", POSSIBLE),
    ("deletes-disk", "closes-disk", POSSIBLE),
    ("nfs-open", "nfs-manager", LIKELY),
    ("waits-copy-up", "copies-up", POSSIBLE),
    ("asks-fuse", "serves-fuse", POSSIBLE),
    ("waits-oom", "kills-oom", POSSIBLE),
    ("freezes-queue", "has-no-tag", POSSIBLE),
    ("f2fs-checkpoint", "f2fs-chown", POSSIBLE),
    ("f2fs-pause", "f2fs-checkpoint", POSSIBLE),
    ("f2fs-chown", "f2fs-pause", POSSIBLE),
    ("raid-sync", "raid-work", LIKELY),
    ("freezes-writers", "in-write", POSSIBLE),
    ("freezes-writers", "submits", POSSIBLE),
    ("submits", "freezes-writers", POSSIBLE),
    ("xfs-fsync", "xfs-flusher", POSSIBLE),
)
APART = (
    ("nvme-sync", "nvme-scan"),
    ("nfs-fsync", "thin-work"),
    ("thaws", "umounts"),
    ("opens-disk", "deletes-disk"),
    ("waits-copy-up", "asks-fuse"),
    ("drains-lru", "flusher"),
    ("raid-work", "raid-sync"),
    ("freezes-writers", "writes"),
    ("freezes-writers", "umounts"),
    # Each waits for pages of its own file.
    ("xfs-fsync", "fsync-too"),
)
WORDS = (
    ("writes", "frozen"),
    ("creates", "frozen"),
    ("drops", "frozen"),
    ("f2fs-pause", "checkpoint"),
    ("freezes-queue", "requests of the disk have ended"),
    ("nvme-reset", "resets an NVMe controller"),
    ("nvme-sync", "work"),
    ("nfs-idle", "idles"),
    ("nfs-open", "state manager"),
    ("encrypts", "until data is encrypted or decrypted (fscrypt)"),
)


def task(name: str, pid: int) -> Shown:
    """One of the stacks under its own name."""
    work = STACKS[name].split()
    at = work.index("process_one_work") if "process_one_work" in work else 0
    return Shown(name[:15], pid, STACKS[name], f"events {work[at - 1]}" if at else "")


@pytest.mark.parametrize(("waiter", "holder", "confidence"), LINKED)
def test_who_can_hold_it(waiter: str, holder: str, confidence: str) -> None:
    assert_linked(task(waiter, 11), task(holder, 12), confidence)


@pytest.mark.parametrize(("waiter", "holder"), APART)
def test_who_cannot(waiter: str, holder: str) -> None:
    one, other = task(waiter, 11), task(holder, 12)
    assert one.comm not in joined(one, other)


@pytest.mark.parametrize(("name", "words"), WORDS)
def test_the_words_of_a_wait(name: str, words: str) -> None:
    text = sentence(explained(task(name, 11).report()), "log")
    assert words in text
    assert "memory" not in text and "room" not in text


def test_two_roots_of_one_reset() -> None:
    """The one who flushes the work, and the one whose semaphore it holds."""
    rows = [task(name, at) for at, name in enumerate(STACKS, 1) if "nvme-" in name]
    links = named(explained(*(row.report() for row in rows[:3])))
    assert links == {
        "nvme-sync": ("nvme-reset", LIKELY),
        "nvme-scan": ("nvme-reset", POSSIBLE),
    }


def test_an_inodegc_is_flushed_on_each_cpu() -> None:
    """fs/xfs/xfs_icache.c xfs_inodegc_wait_all(): the first is as right as the next."""
    stack = FLUSH + "flush_work xfs_inodegc_flush xfs_fs_statfs statfs_by_dentry"
    work = "schedule down xfs_buf_lock xfs_read_agf xfs_inactive xfs_inodegc_worker"
    workers = [Shown(f"kworker/{pid}:0", pid, work + WORK) for pid in (21, 22)]
    links = joined(Shown("df", 11, stack), *workers)
    assert links["df"] == ("kworker/21:0", POSSIBLE)


def test_a_thaw_and_a_shrinker_may_be_a_circle() -> None:
    text = sentence(
        explained(task("drops", 71).report(), task("thaws", 72).report()), "log"
    )
    assert "may wait in a circle" in text


def test_the_manager_names_its_server() -> None:
    """fs/nfs/nfs4state.c nfs4_schedule_state_manager(): "%s-manager"."""
    rows = [
        task("nfs-open", 11),
        Shown("10.0.0.9-manage", 12, STACKS["nfs-manager"]),
    ]
    text = sentence(explained(*(row.report() for row in rows)), "log")
    assert "waits for the answer of the NFS server 10.0.0.9" in text


def test_a_btrfs_commit_does_not_wait_for_itself() -> None:
    stack = "schedule btrfs_commit_transaction/btrfs transaction_kthread/btrfs kthread"
    text = sentence(explained(Shown("btrfs-transacti", 11, stack).report()), "log")
    assert "waits until all who joined its transaction have left" in text
