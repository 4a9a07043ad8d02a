# SPDX-License-Identifier: GPL-2.0-only
"""drains: who is still inside what is to go, to stop or to be claimed.

Each row is a count or a claim of one object, which no stack names: all are `possible`,
and of several candidates none is given.
"""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import Holder, names, of_row, perhaps
from writestall_base import wait_classes as c

_BEFORE_DIO = (
    "kiocb_invalidate_pages kiocb_write_and_wait filemap_write_and_wait_range "
    "invalidate_inode_pages2_range filemap_invalidate_inode"
)
# Who waits, who is inside, what that is, and the source (of Linux 6.12).
_USERS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "proc_entry_rundown remove_proc_entry remove_proc_subtree proc_remove",
        "proc_reg_read proc_reg_read_iter proc_reg_write proc_reg_unlocked_ioctl "
        "proc_reg_mmap proc_reg_open pde_read pde_write",
        "the users of a file of /proc (in_use)",
        "it uses a file of /proc that is to go",
        "fs/proc/inode.c proc_entry_rundown(): until use_pde() and unuse_pde() of "
        "proc_reg_read() and its like are even",
    ),
    (
        "start_unregistering drop_sysctl_table unregister_sysctl_table",
        "proc_sys_call_handler proc_sys_read proc_sys_write proc_sys_open "
        "proc_sys_readdir",
        "the users of a table of sysctl (used)",
        "it uses a sysctl that is to go",
        "fs/proc/proc_sysctl.c start_unregistering(): until unuse_table()",
    ),
    (
        "__debugfs_file_removed debugfs_remove debugfs_remove_recursive remove_one "
        "simple_recursive_removal",
        "full_proxy_read full_proxy_write full_proxy_llseek full_proxy_unlocked_ioctl "
        "full_proxy_open open_proxy_open debugfs_attr_read debugfs_attr_write",
        "the users of a file of debugfs (active_users)",
        "it uses a file of debugfs that is to go",
        "fs/debugfs/inode.c __debugfs_file_removed(): until debugfs_file_put() of "
        "full_proxy_read() and its like",
    ),
    (
        "dpm_wait dpm_wait_fn dpm_wait_for_superior dpm_wait_for_subordinate "
        "dpm_wait_for_children dpm_wait_for_suppliers dpm_wait_for_consumers",
        "dpm_run_callback device_resume device_resume_early device_resume_noirq "
        "__device_suspend __device_suspend_late __device_suspend_noirq",
        "the suspend or resume of another device (power.completion)",
        "it suspends or resumes a device that others depend on",
        "drivers/base/power/main.c dpm_wait(): until complete_all() in "
        "device_resume() or __device_suspend() of the other device",
    ),
    (
        "__mmc_claim_host mmc_claim_host mmc_get_card",
        "mmc_wait_for_req mmc_wait_for_req_done mmc_wait_for_cmd mmc_start_request "
        "mmc_blk_mq_issue_rq mmc_blk_mq_rw_recovery mmc_blk_issue_drv_op "
        "mmc_rescan_try_freq mmc_sd_detect mmc_detect mmc_sd_init_card mmc_init_card",
        "an MMC host that is claimed",
        "it has the MMC host claimed",
        "drivers/mmc/core/core.c __mmc_claim_host(): until mmc_release_host(); "
        "mmc_start_request() warns where the host is not claimed",
    ),
    (
        "cgroup_lock_and_drain_offline",
        "css_killed_work_fn offline_css css_free_rwork_fn css_release_work_fn",
        "cgroups that go away (offline_waitq)",
        "it takes a cgroup that was removed offline",
        "kernel/cgroup/cgroup.c cgroup_lock_and_drain_offline(): until "
        "css_killed_work_fn() has called offline_css() for each dying state",
    ),
    (
        "btrfs_wait_nocow_writers",
        "run_delalloc_nocow btrfs_get_blocks_direct_write",
        "writers of a btrfs block group (nocow_writers)",
        "it writes over data of the block group",
        "fs/btrfs/block-group.c btrfs_wait_nocow_writers(): until btrfs_dec_nocow_"
        "writers() of run_delalloc_nocow()",
    ),
    (
        "btrfs_wait_block_group_reservations",
        "cow_file_range btrfs_new_extent_direct submit_one_async_extent",
        "reservations of a btrfs block group",
        "it has space of the block group reserved",
        "fs/btrfs/block-group.c btrfs_wait_block_group_reservations(): until "
        "btrfs_dec_block_group_reservations(), after the ordered extent is made",
    ),
    (
        "btrfs_pause_balance btrfs_cancel_balance",
        "__btrfs_balance balance_kthread",
        "a balance of btrfs",
        "it balances, and stops after its block group",
        "fs/btrfs/volumes.c btrfs_pause_balance(): until BTRFS_FS_BALANCE_RUNNING is "
        "clear",
    ),
    (
        "exclop_start_or_cancel_reloc",
        "relocate_block_group btrfs_relocate_block_group",
        "a relocation of btrfs (BTRFS_FS_RELOC_RUNNING)",
        "it relocates a block group",
        "fs/btrfs/ioctl.c exclop_start_or_cancel_reloc(): until "
        "btrfs_relocate_block_group() has cleared the bit",
    ),
    (
        "shrink_delalloc",
        "compress_file_range submit_compressed_extents submit_one_async_extent "
        "run_delalloc_compressed",
        "compressed data of btrfs under way (async_delalloc_pages)",
        "it compresses or sends such data",
        "fs/btrfs/space-info.c shrink_delalloc(): until async_delalloc_pages is low, "
        "which submit_compressed_extents() counts down",
    ),
    (
        "invalidate_dquots dqget wait_on_dquot",
        "dquot_release dquot_acquire *_release_dquot *_acquire_dquot",
        "a quota that is read in or freed (dquot)",
        "it reads a quota in or frees it",
        "fs/quota/dquot.c dqget(), invalidate_dquots(): until dquot_release() or "
        "dquot_acquire() is over",
    ),
    (
        "pnfs_update_layout pnfs_roc _pnfs_return_layout",
        "nfs4_proc_layoutget nfs4_proc_layoutreturn pnfs_send_layoutreturn "
        "send_layoutget",
        "a layout of pNFS",
        "it asks the server for a layout, or returns one",
        "fs/nfs/pnfs.c pnfs_update_layout(): until NFS_LAYOUT_FIRST_LAYOUTGET and "
        "NFS_LAYOUT_RETURN are clear",
    ),
    (
        "__nfs_lookup_revalidate",
        "nfs_unlink nfs_rename",
        "an unlink or rename of the same name (NFS_FSDATA_BLOCKED)",
        "it unlinks or renames in NFS",
        "fs/nfs/dir.c block_revalidate(), called by nfs_unlink() and nfs_rename()",
    ),
    (
        "xfs_extent_busy_flush xfs_extent_busy_wait_all",
        "xlog_cil_committed xlog_discard_busy_extents xfs_discard_endio_work "
        "xlog_ioend_work",
        "busy extents of XFS, freed by the log and by discards",
        "it ends a write of the log, or discards",
        "fs/xfs/xfs_extent_busy.c xfs_extent_busy_flush(): until "
        "xfs_extent_busy_clear() of xlog_cil_committed() or of a discard",
    ),
    (
        "fuse_file_cached_io_open fuse_file_uncached_io_open",
        "fuse_direct_write_iter fuse_file_passthrough_* fuse_passthrough_*",
        "direct I/O to a file of FUSE (iocachectr)",
        "it does such I/O",
        "fs/fuse/iomode.c fuse_file_cached_io_open(): until iocachectr is not negative",
    ),
    (
        "blk_crypto_get_keyslot",
        "blk_crypto_put_keyslot blk_mq_dispatch_rq_list",
        "a keyslot of inline encryption",
        "it sends a request that has one",
        "block/blk-crypto-profile.c blk_crypto_get_keyslot(): until one is idle",
    ),
    (
        "gfs2_recover_journal",
        "gfs2_recover_func",
        "the recovery of a journal of gfs2",
        "it recovers a journal",
        "fs/gfs2/recovery.c gfs2_recover_journal(): until gfs2_recover_func() has "
        "cleared JDF_RECOVERY",
    ),
    (
        "dmz_reclaim_copy dm_kcopyd_client_destroy wait_for_in_progress start_copy",
        "run_io_job run_complete_job run_pages_job process_jobs segment_complete",
        "a copy by kcopyd",
        "it copies for mapped devices (kcopyd)",
        "drivers/md/dm-zoned-reclaim.c dmz_reclaim_copy(): DMZ_RECLAIM_KCOPY until "
        "dmz_reclaim_kcopy_end(); dm-snap.c wait_for_in_progress(); dm-kcopyd.c "
        "do_work()",
    ),
    (
        "__synchronize_irq synchronize_irq synchronize_hardirq",
        "irq_thread_fn irq_forced_thread_fn",
        "the handlers of an interrupt",
        "it runs a handler of an interrupt",
        "kernel/irq/manage.c __synchronize_irq(): until no thread of it is active",
    ),
    (
        "acpi_device_hotplug acpi_scan_lock_acquire",
        "dpm_suspend dpm_resume dpm_suspend_start dpm_resume_end "
        "suspend_devices_and_enter",
        "the lock of ACPI's scans (acpi_scan_lock)",
        "it suspends the system, or resumes it",
        "drivers/acpi/sleep.c acpi_pm_start() takes acpi_scan_lock until acpi_pm_end()",
    ),
    (
        "autofs_wait autofs4_wait autofs_mount_wait autofs*_expire_wait",
        "do_mount path_mount do_new_mount vfs_kern_mount vfs_get_tree mount_fs",
        "a mount by automount (autofs)",
        "it mounts, as automount does for those that wait",
        "fs/autofs/waitq.c autofs_wait(): until the daemon has mounted and answered",
    ),
    (
        "io_sq_thread_finish io_sq_thread_stop",
        "io_sq_thread",
        "the thread that polls for an io_uring (SQPOLL)",
        "it is the thread that is to end",
        "fs/io_uring.c io_sq_thread_finish() (5.12), io_uring/sqpoll.c "
        "io_sq_thread_stop(): until io_sq_thread() has completed exited",
    ),
    (
        "synchronize_rcu_expedited",
        "wait_rcu_exp_gp rcu_exp_sel_wait_wake rcu_exp_wait_wake",
        "an expedited grace period of RCU (exp_wq)",
        "it waits until such a grace period is over, and then wakes the others",
        "kernel/rcu/tree_exp.h synchronize_rcu_expedited() queues wait_rcu_exp_gp() "
        "and waits for rcu_exp_wait_wake()",
    ),
    (
        "afs_get_io_locks afs_lock_for_io*",
        "afs_wait_for_operation",
        "the I/O lock of a file of AFS (AFS_VNODE_IO_LOCK)",
        "it does an operation on the file",
        "fs/afs/fs_operation.c afs_begin_vnode_operation() takes it until "
        "afs_end_vnode_operation()",
    ),
    (
        "squashfs_cache_get",
        "squashfs_read_data",
        "an entry of a cache of squashfs",
        "it reads a block into the cache",
        "fs/squashfs/cache.c squashfs_cache_get(): an entry is pending until "
        "squashfs_read_data() has filled it",
    ),
)
_OTHER = tuple(
    of_row(lock, waits, inside, why, source)
    for waits, inside, lock, why, source in _USERS
)
_DIO = perhaps(
    "it does direct I/O to a file, which must have ended",
    "fs/inode.c inode_dio_wait(): until inode_dio_end(); fs/iomap/direct-io.c "
    "__iomap_dio_rw(), fs/direct-io.c __blockdev_direct_IO() call inode_dio_begin() "
    "after they have written and dropped the file's pages",
    names(
        "iomap_dio_rw __iomap_dio_rw __blockdev_direct_IO do_blockdev_direct_IO "
        "dio_aio_complete_work iomap_dio_complete_work dio_complete"
    ),
    lock="i_dio_count of an inode",
    not_shows=names(_BEFORE_DIO),
    caller=names("inode_dio_wait* __inode_dio_wait inode_dio_finished"),
    same_program=True,
)
_ASYNC = perhaps(
    "it runs a function that was called asynchronously",
    "kernel/async.c async_synchronize_cookie_domain() waits until "
    "async_run_entry_fn() of all earlier calls has returned",
    names("async_run_entry_fn"),
    lock="functions that were called asynchronously (async_done)",
    caller=names("async_synchronize_*"),
    not_shows=names("async_synchronize_*"),
    stacked=True,
    pool=True,
)
_ASYNC_ALL = replace(
    _ASYNC,
    of=names("async_synchronize_full device_shutdown kernel_restart kernel_power_off"),
    not_of=names("async_run_entry_fn"),
    not_shows=None,
    any_right=True,
)
_DUMPS = perhaps(
    "it writes the core of the process, for which its other threads wait",
    "kernel/exit.c coredump_task_exit() (exit_mm() before 5.16): until "
    "fs/coredump.c coredump_finish()",
    names("do_coredump vfs_coredump elf_core_dump"),
    lock="the core dump of a process",
    caller=names("coredump_task_exit exit_mm do_exit"),
    not_shows=names("coredump_wait"),
    same_program=True,
)
_LOOP_REQUESTS = perhaps(
    "it does the loop device's requests, which the freeze waits for",
    "drivers/block/loop.c __loop_update_dio(), loop_set_status() freeze the queue; "
    "loop_process_work() ends its requests",
    names("loop_process_work loop_queue_work loop_thread loop_workfn"),
    lock="q_usage_counter of a loop device",
    caller=names("blk_mq_freeze_queue_wait*"),
    of=names("loop_* __loop_*"),
    stacked=True,
)
_MARKS = perhaps(
    "it tells a program that watches files, and no group of marks ends meanwhile",
    "fs/notify/fsnotify.c fsnotify(): inside fsnotify_mark_srcu, for which "
    "fsnotify_destroy_group() and fsnotify_mark_destroy_workfn() wait "
    "(fs/notify/mark.c)",
    names("fanotify_handle_event"),
    lock="a grace period of fsnotify_mark_srcu",
    of=names("fsnotify_destroy_group fsnotify_*mark_destroy* fsnotify_wait_marks_*"),
    any_right=True,
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (*_OTHER, _DIO, _ASYNC_ALL, _ASYNC, _DUMPS, _MARKS),
    c.FS_LOCK: _OTHER,
    c.FS_TRANSACTION: _OTHER,
    c.DEVICE_IO: (*_OTHER, _DIO),
    c.RAID_OR_DM: (*_OTHER, _DIO),
    c.BLOCK_QUEUE: (_LOOP_REQUESTS,),
}
