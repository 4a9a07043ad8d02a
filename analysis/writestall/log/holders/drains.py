# SPDX-License-Identifier: GPL-2.0-only
"""drains: who is still inside what is to go, to stop or to be claimed.

Each row is a count or a claim of one object, which no stack names: all are `possible`,
and of several candidates none is given.
"""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, of_row
from writestall.log.stuck import POSSIBLE
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
_DIO = Holder(
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
    confidence=POSSIBLE,
    same_program=True,
)
_ASYNC = Holder(
    "it runs a function that was called asynchronously",
    "kernel/async.c async_synchronize_cookie_domain() waits until "
    "async_run_entry_fn() of all earlier calls has returned",
    names("async_run_entry_fn"),
    lock="functions that were called asynchronously (async_done)",
    caller=names("async_synchronize_*"),
    not_shows=names("async_synchronize_*"),
    confidence=POSSIBLE,
    stacked=True,
    pool=True,
)
_DUMPS = Holder(
    "it writes the core of the process, for which its other threads wait",
    "kernel/exit.c coredump_task_exit() (exit_mm() before 5.16): until "
    "fs/coredump.c coredump_finish()",
    names("do_coredump vfs_coredump elf_core_dump"),
    lock="the core dump of a process",
    caller=names("coredump_task_exit exit_mm do_exit"),
    not_shows=names("coredump_wait"),
    confidence=POSSIBLE,
    same_program=True,
)
_LOOP_REQUESTS = Holder(
    "it does the loop device's requests, which the freeze waits for",
    "drivers/block/loop.c __loop_update_dio(), loop_set_status() freeze the queue; "
    "loop_process_work() ends its requests",
    names("loop_process_work loop_queue_work loop_thread loop_workfn"),
    lock="q_usage_counter of a loop device",
    caller=names("blk_mq_freeze_queue_wait*"),
    of=names("loop_* __loop_*"),
    confidence=POSSIBLE,
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (*_OTHER, _DIO, _ASYNC, _DUMPS),
    c.FS_LOCK: _OTHER,
    c.DEVICE_IO: (*_OTHER, _DIO),
    c.RAID_OR_DM: (_DIO,),
    c.BLOCK_QUEUE: (_LOOP_REQUESTS,),
}
