# SPDX-License-Identifier: GPL-2.0-only
"""This test will classify a stack of each kind of wait that kernels have.

Each stack is the call chain of the kernel's own source, innermost first, old releases'
names included; none is anybody's report.
"""

from __future__ import annotations

import re

import pytest

from writestall.classify.frames import Frame, frame, parse_frame
from writestall.classify.rules import OVERRIDES, RULES
from writestall.classify.rules.roles import RULES as ROLES
from writestall.classify.stack import classify_frames, role_of
from writestall_base import wait_classes as c

WAYS = [
    (
        "page_writeback",
        "writer",
        "schedule wb_wait_for_completion sync_inodes_sb sync_inodes_one_sb "
        "iterate_supers ksys_sync __do_sys_sync do_syscall_64",
    ),
    (
        "device_io",
        "writeback",
        "__schedule schedule io_schedule bit_wait_io __wait_on_bit "
        "out_of_line_wait_on_bit ext4_wait_block_bitmap ext4_mb_load_buddy_gfp "
        "ext4_mb_regular_allocator ext4_mb_new_blocks ext4_map_blocks "
        "ext4_writepages do_writepages __writeback_single_inode wb_workfn",
    ),
    (
        "fs_lock",
        "other",
        "schedule_timeout __down_common down xfs_buf_lock xfs_buf_find_lock "
        "xfs_buf_get_map xfs_buf_read_map xfs_trans_read_buf_map xfs_read_agf "
        "xfs_alloc_fix_freelist",
    ),
    (
        "journal_commit_wait",
        "writer",
        "schedule xlog_wait_on_iclog xfs_log_force_seq xfs_file_fsync do_fsync "
        "__x64_sys_fsync",
    ),
    (
        "log_space",
        "writer",
        "schedule xlog_grant_head_wait xlog_grant_head_check xfs_log_reserve "
        "xfs_trans_reserve xfs_trans_alloc xfs_vn_update_time file_update_time "
        "xfs_file_write_checks xfs_file_buffered_write vfs_write ksys_write",
    ),
    (
        "log_space",
        "writer",
        "schedule xlog_grant_head_wait xlog_grant_head_check xfs_log_reserve "
        "xfs_trans_reserve xfs_trans_alloc xfs_trans_alloc_inode "
        "xfs_bmapi_convert_delalloc xfs_map_blocks iomap_writepages "
        "xfs_vm_writepages do_writepages file_write_and_wait_range xfs_file_fsync "
        "do_fsync",
    ),
    (
        "log_space",
        "journal",
        "schedule xlog_state_get_iclog_space xlog_write xlog_cil_push_work "
        "process_one_work worker_thread",
    ),
    (
        "fs_transaction",
        "writer",
        "schedule rwsem_down_read_slowpath down_read f2fs_map_blocks "
        "f2fs_file_write_iter vfs_write ksys_write",
    ),
    (
        "fs_transaction",
        "writer",
        "schedule rwsem_down_read_slowpath down_read f2fs_down_read_trace "
        "f2fs_map_blocks f2fs_file_write_iter vfs_write ksys_write",
    ),
    (
        "fs_lock",
        "writer",
        "schedule rwsem_down_read_slowpath down_read f2fs_down_read "
        "f2fs_get_node_info __get_node_folio f2fs_get_dnode_of_data f2fs_map_blocks "
        "f2fs_file_write_iter vfs_write ksys_write",
    ),
    (
        "inode_lock",
        "writer",
        "rwsem_down_write_slowpath down_write xfs_ilock xfs_file_buffered_write "
        "vfs_write",
    ),
    (
        "fs_lock",
        "writer",
        "rwsem_down_write_slowpath down_write xfs_ilock "
        "xfs_buffered_write_iomap_begin iomap_iter iomap_file_buffered_write "
        "xfs_file_buffered_write vfs_write",
    ),
    (
        "fs_transaction",
        "writer",
        "schedule wait_current_trans start_transaction btrfs_dirty_inode "
        "file_update_time btrfs_file_write_iter vfs_write",
    ),
    (
        "fs_transaction",
        "journal",
        "schedule btrfs_commit_transaction transaction_kthread kthread",
    ),
    (
        "dirty_throttle",
        "writer",
        "schedule_timeout io_schedule_timeout balance_dirty_pages "
        "balance_dirty_pages_ratelimited generic_perform_write "
        "ext4_buffered_write_iter vfs_write",
    ),
    (
        "journal_transaction",
        "writer",
        "schedule wait_transaction_locked add_transaction_credits start_this_handle "
        "jbd2__journal_start __ext4_journal_start_sb ext4_dirty_inode "
        "__mark_inode_dirty vfs_write",
    ),
    (
        "journal_space",
        "writer",
        "mutex_lock_io __jbd2_log_wait_for_space add_transaction_credits "
        "start_this_handle vfs_write",
    ),
    (
        "memory",
        "writer",
        "schedule_timeout reclaim_throttle shrink_node do_try_to_free_pages "
        "try_to_free_pages __alloc_pages_slowpath __alloc_pages ext4_da_write_begin "
        "vfs_write",
    ),
    (
        "memory",
        "other",
        "io_schedule wait_on_page_bit shrink_page_list shrink_inactive_list "
        "shrink_zone balance_pgdat kswapd kthread",
    ),
    (
        "fs_transaction",
        "writer",
        "schedule wait_for_completion f2fs_issue_checkpoint f2fs_sync_fs "
        "f2fs_do_sync_file f2fs_sync_file do_fsync",
    ),
    (
        "raid_or_dm",
        "writeback",
        "schedule raid5_get_active_stripe raid5_make_request md_handle_request "
        "md_submit_bio submit_bio_noacct submit_bio ext4_io_submit ext4_writepages "
        "wb_workfn",
    ),
    (
        "raid_or_dm",
        "other",
        "schedule wait_barrier raid1_write_request raid1_make_request "
        "md_handle_request submit_bio ext4_io_submit",
    ),
    (
        "block_queue",
        "journal",
        "io_schedule blk_mq_get_tag __blk_mq_alloc_requests blk_mq_submit_bio "
        "submit_bio_noacct jbd2_journal_commit_transaction kjournald2",
    ),
    (
        "block_queue",
        "journal",
        "io_schedule get_request_wait __make_request generic_make_request "
        "submit_bio submit_bh journal_commit_transaction kjournald",
    ),
    (
        "device_io",
        "writer",
        "schedule wait_for_completion_io submit_bio_wait blkdev_issue_flush "
        "ext4_sync_file do_fsync",
    ),
    (
        "page_lock",
        "writer",
        "io_schedule sync_page __wait_on_bit_lock __lock_page find_lock_page "
        "grab_cache_page_write_begin ext4_da_write_begin "
        "generic_file_buffered_write generic_file_aio_write ext4_file_write "
        "do_sync_write vfs_write sys_write",
    ),
    (
        "page_writeback",
        "writer",
        "io_schedule sync_page __wait_on_bit wait_on_page_bit "
        "wait_on_page_writeback_range filemap_fdatawait "
        "filemap_write_and_wait_range vfs_fsync_range",
    ),
    (
        "page_lock",
        "writer",
        "io_schedule wait_on_page_bit_common __lock_page pagecache_get_page "
        "grab_cache_page_write_begin ext4_da_write_begin generic_perform_write",
    ),
    (
        "page_lock",
        "writer",
        "io_schedule __filemap_get_folio_mpol ext4_da_write_begin "
        "generic_perform_write",
    ),
    (
        "page_writeback",
        "writer",
        "io_schedule folio_wait_writeback folio_wait_stable __filemap_get_folio_mpol "
        "ext4_da_write_begin generic_perform_write",
    ),
    (
        "page_writeback",
        "writer",
        "io_schedule folio_wait_bit_common folio_wait_bit folio_wait_writeback "
        "ext4_da_write_begin generic_perform_write",
    ),
    (
        "inode_lock",
        "writer",
        "__mutex_lock_slowpath mutex_lock generic_file_aio_write ext4_file_write "
        "do_sync_write vfs_write",
    ),
    (
        "inode_lock",
        "other",
        "rwsem_down_write_slowpath down_write path_openat do_filp_open do_sys_openat2",
    ),
    (
        "fs_lock",
        "other",
        "rwsem_down_read_slowpath down_read ext4_map_blocks ext4_getblk ext4_bread "
        "ext4_readdir iterate_dir",
    ),
    (
        "page_writeback",
        "writer",
        "schedule wait_on_page_bit_common wait_on_page_bit wait_on_page_writeback "
        "f2fs_wait_on_page_writeback f2fs_write_begin generic_perform_write",
    ),
    (
        "journal_commit_wait",
        "writer",
        "schedule jbd2_log_wait_commit jbd2_complete_transaction ext4_fc_commit "
        "ext4_fsync_journal ext4_sync_file vfs_fsync_range do_fsync",
    ),
    (
        "journal_transaction",
        "journal",
        "schedule jbd2_journal_wait_updates jbd2_journal_commit_transaction kjournald2",
    ),
    (
        "page_writeback",
        "journal",
        "io_schedule folio_wait_bit_common folio_wait_writeback "
        "__filemap_fdatawait_range filemap_fdatawait_range_keep_errors "
        "jbd2_journal_finish_inode_data_buffers jbd2_journal_commit_transaction "
        "kjournald2",
    ),
]


def frames(text: str) -> tuple[Frame, ...]:
    """Function names as frames."""
    return tuple(frame(symbol, None) for symbol in text.split())


@pytest.mark.parametrize(("cls", "role", "stack"), WAYS)
def test_classes_of_stacks(cls: str, role: str, stack: str) -> None:
    """The class, and the role by functions alone."""
    assert classify_frames(frames(stack)).cls == cls
    assert role_of(frames(stack), None) == role


def test_every_class_has_a_rule() -> None:
    """No class of the list is out of reach."""
    answers = {rule.answer for rule in (*OVERRIDES, *RULES)}
    assert answers == set(c.WAIT_CLASSES)


@pytest.mark.parametrize("rule", [*OVERRIDES, *RULES, *ROLES])
def test_every_rule_gives_its_source(rule: object) -> None:
    """Each rule's reason names a file of the kernel (or of OpenZFS, or of Lustre)."""
    why = getattr(rule, "why", "")
    places = "block|drivers|fs|include|io_uring|kernel|lib|lustre|mm|module|net"
    assert re.search(rf"({places})/[\w/.-]*", why), why


@pytest.mark.parametrize(
    ("text", "symbol", "module"),
    [
        ("ext4_map_blocks.part.0+0x1a/0x30 [ext4]", "ext4_map_blocks", "ext4"),
        ("submit_bio+0x5", "submit_bio", None),
        ("f.isra.0.cold+0x5", "f", None),
        # One suffix for each kind of clone, as in kernels 2.6.3x.
        ("nfs_write_rpc.clone.2+0x30/0x90 [nfs]", "nfs_write_rpc", "nfs"),
        (
            "wait_for_commit+0x11f/0x1d0 [btrfs 6037d5c3ca04912456b1]",
            "wait_for_commit",
            "btrfs",
        ),
        ("__x64_sys_write+0x1a", "__x64_sys_write", None),
        ("__dta___xfs_iunpin_wait_3443+0x57 [xfs]", "__xfs_iunpin_wait", "xfs"),
    ],
)
def test_frames(text: str, symbol: str, module: str | None) -> None:
    """Symbol and module, without suffixes and offsets."""
    assert parse_frame(text) == Frame(symbol, module)


def test_an_address_is_no_frame() -> None:
    """0x... stays unknown."""
    assert parse_frame("0xffffffff81000000") is None
    assert parse_frame("") is None
