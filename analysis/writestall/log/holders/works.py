# SPDX-License-Identifier: GPL-2.0-only
"""works: who ends waits for a work of a workqueue that is flushed or cancelled.

kernel/workqueue.c __flush_work() waits until the work's function has returned; which
work it is only its caller shows. The worker's `Workqueue:` line names the function, and
so does its stack.
"""

from __future__ import annotations

from writestall.log.holders.form import Holder, names
from writestall.log.stuck import LIKELY, POSSIBLE
from writestall_base.wait_classes import WAIT_CLASSES

FLUSHES = names(
    "flush_work __flush_work flush_workqueue __flush_workqueue drain_workqueue "
    "flush_delayed_work cancel_work_sync __cancel_work* cancel_delayed_work_sync "
    "start_flush_work destroy_workqueue"
)
# Who flushes, the functions of the work, how sure that is the same work, and the source
# (of Linux 6.12). A controller, a disk or a file system has one such work each: where
# there are several in a log, there is no link.
_WORKS: tuple[tuple[str, str, str, str], ...] = (
    (
        "nvme_reset_ctrl_sync nvme_remove nvme_shutdown",
        "nvme_reset_work nvme_*_reset_work nvme_reset_ctrl_work "
        "nvme_rdma_reset_ctrl_work nvme_reset_*_ctrl_work",
        LIKELY,
        "drivers/nvme/host/core.c nvme_reset_ctrl_sync(), pci.c nvme_remove(): "
        "ctrl->reset_work",
    ),
    (
        "pci_reset_function pci_try_reset_function pci_dev_save_and_disable",
        "nvme_reset_work",
        POSSIBLE,
        "drivers/nvme/host/pci.c nvme_reset_prepare(): ctrl->reset_work",
    ),
    (
        "nvme_remove_namespaces nvme_passthru_end nvme_stop_ctrl nvme_reset_prepare",
        "nvme_scan_work",
        LIKELY,
        "drivers/nvme/host/core.c nvme_remove_namespaces(): ctrl->scan_work",
    ),
    (
        "nvme_tcp_timeout nvme_rdma_timeout nvme_tcp_stop_ctrl nvme_rdma_stop_ctrl "
        "nvme_tcp_delete_ctrl nvme_rdma_delete_ctrl",
        "nvme_tcp_error_recovery_work nvme_rdma_error_recovery_work",
        LIKELY,
        "drivers/nvme/host/tcp.c nvme_tcp_stop_ctrl(), rdma.c nvme_rdma_stop_ctrl(): "
        "ctrl->err_work",
    ),
    (
        "wb_shutdown bdi_unregister",
        "wb_workfn",
        POSSIBLE,
        "mm/backing-dev.c wb_shutdown(): wb->dwork",
    ),
    (
        "disk_block_events disk_clear_events disk_flush_events",
        "disk_events_workfn",
        LIKELY,
        "block/disk-events.c disk_block_events(): disk->ev->dwork",
    ),
    (
        "lru_add_drain_all __lru_add_drain_all",
        "lru_add_drain_per_cpu",
        LIKELY,
        "mm/swap.c __lru_add_drain_all(): lru_add_drain_work of each CPU",
    ),
    (
        "ext4_put_super ext4_sync_fs ext4_quota_off ext4_freeze",
        "update_super_work ext4_end_io_*work ext4_discard_work",
        LIKELY,
        "fs/ext4/super.c ext4_put_super(), ext4_sync_fs(): s_sb_upd_work, "
        "rsv_conversion_wq",
    ),
    (
        "xfs_flush_inodes",
        "xfs_flush_inodes_worker",
        LIKELY,
        "fs/xfs/xfs_super.c xfs_flush_inodes(): m_flush_inodes_work",
    ),
    (
        "xfs_blockgc_flush_all xfs_blockgc_stop",
        "xfs_blockgc_worker",
        LIKELY,
        "fs/xfs/xfs_icache.c xfs_blockgc_flush_all(): pag_blockgc_work",
    ),
    (
        "xfs_buftarg_wait xfs_buftarg_drain",
        "xfs_buf_ioend_work",
        LIKELY,
        "fs/xfs/xfs_buf.c xfs_buftarg_wait(): m_buf_workqueue",
    ),
    (
        "close_ctree btrfs_remount*",
        "btrfs_async_reclaim_* btrfs_preempt_reclaim_* btrfs_reclaim_bgs_work "
        "btrfs_work_helper",
        POSSIBLE,
        "fs/btrfs/disk-io.c close_ctree(): its workers and async_reclaim_work",
    ),
    (
        "gfs2_gl_hash_clear gfs2_flush_delete_work gfs2_make_fs_ro",
        "glock_work_func gfs2_control_func",
        POSSIBLE,
        "fs/gfs2/glock.c gfs2_gl_hash_clear(): sd_glock_wq, sd_delete_wq",
    ),
    (
        "cgroup_writeback_umount",
        "inode_switch_wbs_work_fn",
        LIKELY,
        "fs/fs-writeback.c cgroup_writeback_umount(): isw_wq",
    ),
    (
        "__md_stop* md_stop stop_sync_thread md_open md_alloc",
        "md_start_sync mddev_delayed_delete",
        LIKELY,
        "drivers/md/md.c stop_sync_thread(): mddev->sync_work, md_misc_wq",
    ),
    (
        "__dm_suspend dm_internal_suspend_fast dm_lock_for_deletion",
        "dm_wq_work",
        LIKELY,
        "drivers/md/dm.c __dm_suspend(): md->wq",
    ),
    (
        "pool_postsuspend thin_postsuspend pool_presuspend",
        "do_worker do_waker do_no_space_timeout",
        LIKELY,
        "drivers/md/dm-thin.c pool_postsuspend(): pool->wq",
    ),
    (
        "mirror_presuspend mirror_postsuspend",
        "do_mirror trigger_event",
        LIKELY,
        "drivers/md/dm-raid1.c mirror_presuspend(): kmirrord_wq",
    ),
    (
        "writecache_suspend writecache_flush writecache_wait_for_writeback",
        "writecache_writeback writecache_flush_work",
        LIKELY,
        "drivers/md/dm-writecache.c writecache_suspend(): writeback_wq",
    ),
    (
        "pci_call_probe work_on_cpu work_on_cpu_key work_on_cpu_safe*",
        "work_for_cpu_fn local_pci_probe_callback",
        POSSIBLE,
        "kernel/workqueue.c work_on_cpu(), drivers/pci/pci-driver.c pci_call_probe(): "
        "the device is probed by a work on a CPU near it",
    ),
    (
        "blk_sync_queue blk_mq_cancel_work_sync",
        "blk_mq_requeue_work blk_mq_run_work_fn blk_mq_timeout_work",
        LIKELY,
        "block/blk-mq.c blk_mq_cancel_work_sync(): requeue_work, run_work",
    ),
)
RULES = tuple(
    Holder(
        "it runs the work that is waited for",
        f"{source}; kernel/workqueue.c __flush_work()",
        names(work),
        lock="the end of a work that is flushed or cancelled",
        of=names(flushes),
        caller=FLUSHES,
        not_of=names(work),
        confidence=confidence,
        stacked=True,
    )
    for flushes, work, confidence, source in _WORKS
)
HOLDERS: dict[str, tuple[Holder, ...]] = dict.fromkeys(WAIT_CLASSES, RULES)
