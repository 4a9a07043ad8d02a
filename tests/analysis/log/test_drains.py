# SPDX-License-Identifier: GPL-2.0-only
"""This test will link who waits until others have left something with who is inside,
and with nobody who has not entered."""

from __future__ import annotations

import pytest

from log_stacks import Shown, assert_linked, joined
from writestall.log.links import POSSIBLE

DONE = "schedule_timeout __wait_for_common wait_for_completion "
WORK = " process_one_work worker_thread kthread"
TAG = "io_schedule blk_mq_get_tag blk_mq_submit_bio submit_bio_noacct "
DIO = TAG + "iomap_dio_bio_iter __iomap_dio_rw iomap_dio_rw xfs_file_dio_write/xfs"
STACKS = {
    "removes-proc": DONE + "proc_entry_rundown remove_proc_entry foo_exit/foo",
    "reads-proc": "schedule __mutex_lock foo_show/foo seq_read_iter "
    "proc_reg_read_iter vfs_read",
    "removes-sysctl": DONE + "drop_sysctl_table unregister_sysctl_table foo_exit/foo",
    "writes-sysctl": "schedule __mutex_lock foo_handler/foo proc_sys_call_handler",
    "removes-debugfs": DONE + "__debugfs_file_removed remove_one "
    "simple_recursive_removal debugfs_remove foo_exit/foo",
    "reads-debugfs": "schedule __mutex_lock foo_show/foo seq_read full_proxy_read",
    "suspends": DONE + "dpm_wait_for_superior device_resume async_resume "
    "async_run_entry_fn" + WORK,
    "resumes": "schedule_timeout scsi_bus_resume_common dpm_run_callback "
    "device_resume async_resume" + WORK,
    "claims": "schedule __mmc_claim_host mmc_rescan" + WORK,
    "claimed": DONE + "mmc_wait_for_req_done mmc_wait_for_cmd mmc_blk_issue_drv_op",
    "waits-dio": "io_schedule inode_dio_wait xfs_file_fallocate/xfs vfs_fallocate",
    "does-dio": DIO,
    "before-dio": "io_schedule folio_wait_writeback __filemap_fdatawait_range "
    "filemap_write_and_wait_range __iomap_dio_rw iomap_dio_rw xfs_file_dio_write/xfs",
    "synchronizes": "schedule async_synchronize_cookie_domain "
    "async_synchronize_full do_init_module",
    "asynchronous": TAG + "foo_probe/foo async_run_entry_fn" + WORK,
    "exits": "schedule do_exit do_group_exit get_signal",
    "dumps": TAG + "ext4_writepages/ext4 elf_core_dump do_coredump get_signal",
    "squash-waits": "schedule squashfs_cache_get/squashfs "
    "squashfs_read_metadata/squashfs squashfs_lookup/squashfs",
    "squash-reads": TAG + "squashfs_bio_read/squashfs squashfs_read_data/squashfs "
    "squashfs_cache_get/squashfs squashfs_get_fragment/squashfs",
    "freezes-loop": "schedule blk_mq_freeze_queue_wait __loop_update_dio lo_ioctl",
    "loop-works": "schedule wait_transaction_locked/jbd2 ext4_writepages/ext4 "
    "loop_process_work" + WORK,
    "reads-page": "io_schedule folio_wait_bit_common filemap_update_page "
    "filemap_get_pages filemap_read ext4_file_read_iter/ext4",
    "reads-ahead": TAG + "ext4_mpage_readpages/ext4 ext4_readahead/ext4 read_pages "
    "page_cache_ra_unbounded filemap_get_pages filemap_read",
    "awaits-truncate": "schedule rwsem_down_read_slowpath down_read "
    "page_cache_ra_unbounded filemap_get_pages filemap_read ext4_file_read_iter/ext4",
    "locks-buffer": "io_schedule bit_wait_io __lock_buffer do_get_write_access/jbd2 "
    "jbd2_journal_get_write_access/jbd2 ext4_reserve_inode_write/ext4",
    "sends-buffers": TAG + "submit_bh_wbc __block_write_full_folio blkdev_writepages "
    "do_writepages wb_workfn" + WORK,
    "reclaims-zone": "io_schedule bit_wait_io out_of_line_wait_on_bit "
    "dmz_reclaim_copy/dm_zoned dmz_reclaim_work/dm_zoned" + WORK,
    "copies": TAG
    + "dispatch_io/dm_mod dm_io/dm_mod run_io_job/dm_mod do_work/dm_mod"
    + WORK,
    "frees-irq": "schedule __synchronize_irq free_irq foo_remove/foo device_remove",
    "handles-irq": "schedule __mutex_lock foo_event/foo irq_thread_fn irq_thread",
    "hotplugs": "schedule __mutex_lock acpi_device_hotplug acpi_hotplug_work_fn" + WORK,
    "wakes-up": DONE + "dpm_wait dpm_resume dpm_resume_end suspend_devices_and_enter",
    "looks-below": "schedule autofs_wait autofs_mount_wait autofs_d_automount "
    "path_lookupat",
    "mounts": "schedule rpc_wait_bit_killable nfs_get_root/nfs vfs_get_tree path_mount",
    "ends-ring": DONE + "io_sq_thread_finish io_ring_ctx_free io_ring_exit_work",
    "polls": "schedule __mutex_lock io_sq_thread ret_from_fork",
    "reads-bh": TAG + "ext4_read_bh/ext4 ext4_find_entry/ext4",
}


@pytest.mark.parametrize(
    ("waiter", "holder"),
    [
        ("removes-proc", "reads-proc"),
        ("removes-sysctl", "writes-sysctl"),
        ("removes-debugfs", "reads-debugfs"),
        ("suspends", "resumes"),
        ("claims", "claimed"),
        ("waits-dio", "does-dio"),
        ("synchronizes", "asynchronous"),
        ("exits", "dumps"),
        ("squash-waits", "squash-reads"),
        ("freezes-loop", "loop-works"),
        ("reads-page", "reads-ahead"),
        ("locks-buffer", "sends-buffers"),
        ("reclaims-zone", "copies"),
        ("frees-irq", "handles-irq"),
        ("hotplugs", "wakes-up"),
        ("looks-below", "mounts"),
        ("ends-ring", "polls"),
    ],
)
def test_who_is_inside_is_waited_for(waiter: str, holder: str) -> None:
    one, other = Shown(waiter, 11, STACKS[waiter]), Shown(holder, 12, STACKS[holder])
    assert_linked(one, other, POSSIBLE)


@pytest.mark.parametrize(
    ("waiter", "other"),
    [
        ("waits-dio", "before-dio"),
        ("reads-page", "awaits-truncate"),
        ("locks-buffer", "reads-bh"),
        ("synchronizes", "loop-works"),
        ("hotplugs", "suspends"),
    ],
)
def test_who_has_not_entered_is_not(waiter: str, other: str) -> None:
    one, two = Shown(waiter, 11, STACKS[waiter]), Shown(other, 12, STACKS[other])
    assert waiter not in joined(one, two)


def test_of_two_that_may_have_claimed_the_host_none_is_given() -> None:
    tasks = [Shown(f"card-{pid}", pid, STACKS["claimed"]) for pid in (12, 13)]
    assert "claims" not in joined(Shown("claims", 11, STACKS["claims"]), *tasks)


def test_of_many_that_are_waited_for_any_is_given() -> None:
    """async_synchronize_full() waits for all of them."""
    later = "io_schedule blk_mq_get_tag bar_probe/bar async_run_entry_fn" + WORK
    two = Shown("first", 12, STACKS["asynchronous"]), Shown("second", 13, later)
    assert joined(Shown("synchronizes", 11, STACKS["synchronizes"]), *two)
