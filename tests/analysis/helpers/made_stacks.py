# SPDX-License-Identifier: GPL-2.0-only
"""made_stacks: stacks by name, for tests of the analysis.

They are shortened forms of what guests print; real ones stand in tests/data.
"""

from __future__ import annotations


def frames(*inner_first: str) -> list[str]:
    """Frames with offsets; `name@module` gets its module."""
    out = []
    for at, name in enumerate(inner_first):
        symbol, _, module = name.partition("@")
        out.append(f"{symbol}+0x{at + 16:x}" + (f" [{module}]" if module else ""))
    return out


_SLEEP = ("__schedule", "schedule")
_WRITE = ("vfs_write", "ksys_write", "do_syscall_64")
_JBD2 = (
    "jbd2_journal_commit_transaction@jbd2",
    "kjournald2@jbd2",
    "kthread",
    "ret_from_fork",
)
_FLUSH = (
    "ext4_do_writepages@ext4",
    "ext4_writepages@ext4",
    "do_writepages",
    "__writeback_single_inode",
    "wb_writeback",
    "wb_workfn",
    "process_one_work",
    "kthread",
)
STACKS: dict[str, list[str]] = {
    "journal_buffer": frames(
        *_SLEEP,
        "bit_wait",
        "out_of_line_wait_on_bit",
        "do_get_write_access@jbd2",
        "jbd2_journal_get_write_access@jbd2",
        "__ext4_journal_get_write_access@ext4",
        "ext4_reserve_inode_write@ext4",
        "__ext4_mark_inode_dirty@ext4",
        "ext4_dirty_inode@ext4",
        "__mark_inode_dirty",
        "file_modified",
        "ext4_buffered_write_iter@ext4",
        *_WRITE,
    ),
    "page_lock": frames(
        *_SLEEP,
        "io_schedule",
        "folio_wait_bit_common",
        "__filemap_get_folio",
        "ext4_da_write_begin@ext4",
        "generic_perform_write",
        "ext4_buffered_write_iter@ext4",
        *_WRITE,
    ),
    "page_writeback": frames(
        *_SLEEP,
        "io_schedule",
        "folio_wait_bit_common",
        "folio_wait_writeback",
        "__filemap_get_folio",
        "ext4_da_write_begin@ext4",
        *_WRITE,
    ),
    "inode_lock": frames(
        *_SLEEP,
        "rwsem_down_write_slowpath",
        "down_write",
        "ext4_buffered_write_iter@ext4",
        *_WRITE,
    ),
    "dirty_throttle": frames(
        *_SLEEP,
        "schedule_timeout",
        "io_schedule_timeout",
        "balance_dirty_pages",
        "balance_dirty_pages_ratelimited_flags",
        "generic_perform_write",
        *_WRITE,
    ),
    # As 6.12 prints a write to a tmpfs that must swap first, most frames left out.
    "reclaim": frames(
        *_SLEEP,
        "io_schedule",
        "blk_mq_get_tag",
        "blk_mq_submit_bio",
        "submit_bio_noacct_nocheck",
        "swap_writepage",
        "pageout",
        "shrink_folio_list",
        "do_try_to_free_pages",
        "try_to_free_mem_cgroup_pages",
        "try_charge_memcg",
        "shmem_get_folio_gfp",
        "shmem_write_begin",
        *_WRITE,
    ),
    "flusher": frames(
        *_SLEEP,
        "bit_wait",
        "do_get_write_access@jbd2",
        "jbd2_journal_get_write_access@jbd2",
        "__ext4_journal_get_write_access@ext4",
        "ext4_mb_mark_context@ext4",
        "ext4_mb_new_blocks@ext4",
        "ext4_map_blocks@ext4",
        *_FLUSH,
    ),
    "flusher_submit": frames(
        *_SLEEP,
        "schedule_timeout",
        "io_schedule_timeout",
        "slow_hand@unheard_of",
        "submit_bio_noacct",
        "ext4_io_submit@ext4",
        *_FLUSH,
    ),
    "jbd2_submit": frames(
        *_SLEEP,
        "schedule_timeout",
        "io_schedule_timeout",
        "slow_hand@unheard_of",
        "submit_bh_wbc",
        *_JBD2,
    ),
    # As guests print it: submit_bh() to submit_bio_noacct() are tail calls.
    "jbd2_hidden": frames(
        *_SLEEP, "io_schedule", "slow_hand@unheard_of", "way_in@unheard_of", *_JBD2
    ),
    "shadow_ends": frames(
        "wake_up_bit",
        "journal_end_buffer_io_sync@jbd2",
        "end_bio_bh_io_sync",
        "blk_update_request",
        "virtblk_done@virtio_blk",
    ),
    "jbd2_sleeps": frames(*_SLEEP, "schedule_timeout", "msleep", *_JBD2),
    "jbd2_polls": frames(
        *_SLEEP, "schedule_timeout", "schedule_timeout_uninterruptible", *_JBD2
    ),
    "jbd2_wait": frames(*_SLEEP, "bit_wait_io", "__wait_on_buffer", *_JBD2),
    "jbd2_wakes": frames("wake_up_bit", *_JBD2),
    "unlocks": frames("folio_unlock", *_FLUSH),
    "rwsem_up": frames("rwsem_wake", "up_write", "ext4_buffered_write_iter", *_WRITE),
    "old_timer": frames("try_to_wake_up", "call_timer_fn", "run_timer_softirq"),
    "timer": frames("process_timeout", "call_timer_fn", "handle_softirqs"),
    "flusher_submits": frames("submit_bio", "ext4_io_submit@ext4", *_FLUSH),
    "log_submits": frames(
        "submit_bio", "xlog_sync@xfs", "xlog_cil_push_work@xfs", "process_one_work"
    ),
    "loop_submits": frames("submit_bio", "loop_process_work@loop", "process_one_work"),
    "none": [],
    "own_writeback": frames(
        *_SLEEP,
        "io_schedule",
        "folio_wait_bit_common",
        "folio_wait_writeback",
        "__filemap_fdatawait_range",
        "file_write_and_wait_range",
        "ext4_sync_file@ext4",
        "__x64_sys_fsync",
    ),
    "completion": frames("end_buffer_write_sync", "bio_endio", "virtblk_done"),
    "xfs_log_space": frames(
        *_SLEEP,
        "xlog_grant_head_wait@xfs",
        "xfs_log_reserve@xfs",
        "xfs_trans_alloc@xfs",
        "xfs_vn_update_time@xfs",
        "xfs_file_buffered_write@xfs",
        *_WRITE,
    ),
    "xfs_log_wait": frames(
        *_SLEEP,
        "xlog_wait_on_iclog@xfs",
        "xfs_log_force_seq@xfs",
        "xfs_file_fsync@xfs",
        "do_fsync",
        "do_syscall_64",
    ),
    "xfs_log_ends": frames(
        "xlog_state_do_callback@xfs",
        "xlog_ioend_work@xfs",
        "process_one_work",
        "worker_thread",
    ),
    "xfs_buffer_ends": frames(
        "xlog_grant_head_wake@xfs",
        "xfs_log_space_wake@xfs",
        "xfs_buf_item_done@xfs",
        "xfs_buf_ioend@xfs",
        "process_one_work",
    ),
    "xfs_writeback_ends": frames(
        "folio_end_writeback",
        "iomap_finish_ioend_buffered",
        "xfs_end_ioend@xfs",
        "process_one_work",
    ),
    "loop_sends": frames(
        *_SLEEP,
        "io_schedule",
        "slow_hand@unheard_of",
        "blkdev_direct_IO",
        "blkdev_write_iter",
        "lo_rw_aio@loop",
        "loop_process_work@loop",
        "process_one_work",
    ),
    "own_io": frames(
        *_SLEEP,
        "io_schedule",
        "bit_wait_io",
        "out_of_line_wait_on_bit",
        "__sync_dirty_buffer",
        "ext4_write_inode@ext4",
    ),
    "xfs_iowait": frames(
        *_SLEEP,
        "schedule_timeout",
        "wait_for_completion",
        "xfs_buf_iowait@xfs",
        "__xfs_buf_submit@xfs",
        "xfs_buf_read_map@xfs",
        "process_one_work",
    ),
    # As 6.12 has it, with xfs_buf_iowait() and wait_for_completion() inlined.
    "xfs_iowait_inlined": frames(
        *_SLEEP,
        "schedule_timeout",
        "__wait_for_common",
        "__xfs_buf_submit@xfs",
        "xfs_buf_read_map@xfs",
        "xfs_trans_read_buf_map@xfs",
        "xfs_alloc_read_agfl@xfs",
    ),
    "work_completes": frames("complete", "process_one_work", "worker_thread"),
    "futex": frames(*_SLEEP, "futex_wait_queue", "__futex_wait", "do_futex"),
    "futex_wakes": frames("wake_up_q", "futex_wake", "do_futex", "__x64_sys_futex"),
    "recv": frames(*_SLEEP, "schedule_timeout", "unix_stream_read_generic"),
    "sends": frames("sock_def_readable", "unix_stream_sendmsg", "__sys_sendto"),
    "epoll": frames(*_SLEEP, "schedule_hrtimeout_range_clock", "ep_poll"),
    "nanosleep": frames(*_SLEEP, "do_nanosleep", "hrtimer_nanosleep"),
    "mystery": frames(*_SLEEP, "brand_new_wait", "vfs_write", "do_syscall_64"),
}
