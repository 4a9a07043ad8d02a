# SPDX-License-Identifier: GPL-2.0-only
"""threads: who ends waits for the begin and the end of a kernel thread.

kernel/kthread.c kthread_stop() waits until the thread's function has returned; which
thread it is only its caller shows. Of several of one name in a log there is no link.
"""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall.log.stuck import LIKELY, POSSIBLE
from writestall_base import wait_classes as c

STOPS = names("kthread_stop* kthread_park")
# Who stops, the thread's function, how sure that is the same thread, and the source
# (of Linux 6.12).
_THREADS: tuple[tuple[str, str, str, str], ...] = (
    (
        "free_irq __free_irq",
        "irq_thread",
        POSSIBLE,
        "kernel/irq/manage.c __free_irq()",
    ),
    (
        "ext4_stop_mmpd ext4_put_super",
        "kmmpd",
        LIKELY,
        "fs/ext4/mmp.c ext4_stop_mmpd()",
    ),
    (
        "ext4_destroy_lazyinit_thread ext4_exit_fs",
        "ext4_lazyinit_thread",
        LIKELY,
        "fs/ext4/super.c ext4_destroy_lazyinit_thread()",
    ),
    (
        "close_ctree btrfs_put_super",
        "transaction_kthread cleaner_kthread",
        POSSIBLE,
        "fs/btrfs/disk-io.c close_ctree()",
    ),
    (
        "xfs_trans_ail_destroy xfs_log_unmount xfs_unmountfs",
        "xfsaild",
        LIKELY,
        "fs/xfs/xfs_trans_ail.c xfs_trans_ail_destroy()",
    ),
    (
        "f2fs_stop_gc_thread f2fs_stop_ckpt_thread f2fs_destroy_flush_cmd_control "
        "f2fs_stop_discard_thread f2fs_put_super f2fs_remount",
        "gc_thread_func issue_checkpoint_thread issue_flush_thread "
        "issue_discard_thread",
        POSSIBLE,
        "fs/f2fs/gc.c f2fs_stop_gc_thread(), checkpoint.c, segment.c",
    ),
    (
        "gfs2_put_super gfs2_destroy_threads gfs2_make_fs_ro gfs2_withdraw signal_our*",
        "gfs2_logd gfs2_quotad",
        POSSIBLE,
        "fs/gfs2/super.c gfs2_destroy_threads()",
    ),
    (
        "ocfs2_journal_shutdown ocfs2_dismount_volume ocfs2_dlm_shutdown",
        "ocfs2_commit_thread ocfs2_downconvert_thread",
        POSSIBLE,
        "fs/ocfs2/journal.c ocfs2_journal_shutdown()",
    ),
    (
        "nilfs_segctor_destroy nilfs_detach_log_writer",
        "nilfs_segctor_thread",
        LIKELY,
        "fs/nilfs2/segment.c nilfs_segctor_kill_thread()",
    ),
    (
        "crypt_dtr delay_dtr writecache_dtr",
        "dmcrypt_write flush_worker_fn writecache_flush_thread writecache_endio_thread",
        POSSIBLE,
        "drivers/md/dm-crypt.c crypt_dtr(), dm-delay.c delay_dtr(), dm-writecache.c "
        "writecache_dtr()",
    ),
    (
        "iscsit_close_connection iscsit_conn_set_transport iscsi_target_nego_release",
        "iscsi_target_rx_thread iscsi_target_tx_thread",
        POSSIBLE,
        "drivers/target/iscsi/iscsi_target.c iscsit_close_connection(): each of a "
        "connection's two threads stops the other",
    ),
    (
        "iscsit_clear_tpg_np_login_thread* iscsit_del_np",
        "iscsi_target_login_thread",
        POSSIBLE,
        "drivers/target/iscsi/iscsi_target.c iscsit_del_np()",
    ),
    (
        "usb_stor_release_resources release_everything usb_stor_disconnect",
        "usb_stor_control_thread",
        POSSIBLE,
        "drivers/usb/storage/usb.c usb_stor_release_resources()",
    ),
    (
        "scsi_host_dev_release scsi_remove_host",
        "scsi_error_handler",
        POSSIBLE,
        "drivers/scsi/hosts.c scsi_host_dev_release()",
    ),
    (
        "xen_blkif_disconnect",
        "xen_blkif_schedule",
        POSSIBLE,
        "drivers/block/xen-blkback/xenbus.c xen_blkif_disconnect()",
    ),
    (
        "ubifs_umount ubifs_put_super ubifs_remount_* ubifs_ro_mode",
        "ubifs_bg_thread",
        POSSIBLE,
        "fs/ubifs/super.c ubifs_remount_ro()",
    ),
    (
        "cached_dev_free cached_dev_detach_finish cache_set_flush",
        "bch_writeback_thread bch_gc_thread bch_allocator_thread",
        POSSIBLE,
        "drivers/md/bcache/super.c cached_dev_free(), cache_set_flush()",
    ),
)
RULES = tuple(
    Holder(
        "it is the thread that is to end",
        f"{source}; kernel/kthread.c kthread_stop()",
        names(thread),
        lock="the end of a kernel thread",
        of=names(stops),
        caller=STOPS,
        confidence=confidence,
    )
    for stops, thread, confidence, source in _THREADS
)
_ENDS = perhaps(
    "it is a kernel thread at its end",
    "kernel/kthread.c kthread_stop() waits for the thread's do_exit(), which "
    "exit_signals() and the like may hold up",
    names("do_exit kthread_exit"),
    lock="the end of a kernel thread",
    also=names("kthread"),
    caller=STOPS,
    stacked=True,
)
_BEGINS = Holder(
    "it starts all kernel threads, one after the other",
    "kernel/kthread.c __kthread_create_on_node() waits for kthreadd(), which calls "
    "create_kthread() for each",
    names("kthreadd"),
    lock="the start of a kernel thread",
    of=names("*kthread_create*"),
    caller=names("*kthread_create* create_worker"),
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    **dict.fromkeys(c.WAIT_CLASSES, (*RULES, _ENDS)),
    c.OTHER: (*RULES, _ENDS, _BEGINS),
}
