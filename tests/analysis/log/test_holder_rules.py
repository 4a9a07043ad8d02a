# SPDX-License-Identifier: GPL-2.0-only
"""This test will link waiters with tasks that can hold what they wait for, and no
others."""

from __future__ import annotations

import re

import pytest

from log_stacks import Shown, explained, joined, named
from writestall.log.holders import HOLDERS
from writestall.log.links import LIKELY, POSSIBLE

# name: innermost first, `/module` where a module's.
STACKS = {
    # ext4 and jbd2.
    "fsync": "schedule jbd2_log_wait_commit/jbd2 ext4_sync_file/ext4 do_fsync",
    "commit": "io_schedule __wait_on_buffer jbd2_journal_commit_transaction/jbd2 "
    "kjournald2/jbd2 kthread",
    "updates": "schedule jbd2_journal_wait_updates/jbd2 "
    "jbd2_journal_commit_transaction/jbd2 kjournald2/jbd2 kthread",
    "handle": "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    "ext4_dirty_inode/ext4 vfs_write",
    "orphan": "io_schedule __wait_on_buffer ext4_orphan_add/ext4 ext4_unlink/ext4 "
    "vfs_unlink do_unlinkat",
    "extents": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "mpage_map_and_submit_extent/ext4 ext4_do_writepages/ext4 writeback_sb_inodes "
    "wb_workfn",
    "prepares": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "mpage_prepare_extent_to_map/ext4 ext4_do_writepages/ext4 writeback_sb_inodes "
    "wb_workfn",
    "inactive": "io_schedule folio_wait_writeback truncate_inode_pages_range "
    "ext4_evict_inode/ext4 evict",
    "checkpoint": "io_schedule __wait_on_buffer jbd2_log_do_checkpoint/jbd2 "
    "__jbd2_log_wait_for_space/jbd2 start_this_handle/jbd2 ext4_dirty_inode/ext4 "
    "vfs_write",
    "space": "schedule mutex_lock_io __jbd2_log_wait_for_space/jbd2 "
    "start_this_handle/jbd2 ext4_dirty_inode/ext4 vfs_write",
    "page": "io_schedule folio_wait_bit_common __folio_lock ext4_da_write_begin/ext4 "
    "vfs_write",
    "writes-page": "io_schedule folio_wait_writeback writeback_iter "
    "ext4_writepages/ext4 file_write_and_wait_range do_fsync",
    "locks-page": "io_schedule folio_wait_bit_common __folio_lock writeback_iter "
    "ext4_writepages/ext4 writeback_sb_inodes wb_workfn",
    "reads-page": "io_schedule folio_wait_bit_common filemap_update_page filemap_read "
    "ext4_file_read_iter/ext4 vfs_read",
    "under-writeback": "io_schedule folio_wait_writeback ext4_da_write_begin/ext4 "
    "vfs_write",
    "end-io": "schedule down_write ext4_map_blocks/ext4 ext4_end_io_rsv_work/ext4 "
    "process_one_work",
    "throttled": "io_schedule_timeout balance_dirty_pages generic_perform_write "
    "ext4_buffered_write_iter/ext4 vfs_write",
    # XFS.
    "xfs-fsync": "schedule xlog_cil_force_seq/xfs xfs_log_force_seq/xfs "
    "xfs_file_fsync/xfs do_fsync",
    "xfs-iclog": "schedule xlog_wait_on_iclog/xfs xfs_log_force_seq/xfs "
    "xfs_file_fsync/xfs do_fsync",
    "xfs-push": "schedule xlog_state_get_iclog_space/xfs xlog_write/xfs "
    "xlog_cil_push_work/xfs process_one_work",
    "xfs-ioend": "schedule down_write xlog_ioend_work/xfs process_one_work",
    "xfs-grant": "schedule xlog_grant_head_wait/xfs xfs_log_reserve/xfs "
    "xfs_trans_alloc/xfs xfs_vn_update_time/xfs vfs_write",
    "xfs-ail": "io_schedule blk_mq_get_tag submit_bio_noacct xfs_buf_delwri_submit/xfs "
    "xfsaild/xfs kthread",
    "xfs-flush": "io_schedule blk_mq_get_tag submit_bio_noacct xfs_map_blocks/xfs "
    "xfs_vm_writepages/xfs writeback_sb_inodes wb_workfn",
    "xfs-buffer": "schedule_timeout down xfs_buf_lock/xfs xfs_read_agf/xfs "
    "xfs_vn_create/xfs",
    "xfs-allocates": "io_schedule xfs_buf_iowait/xfs xfs_bmapi_allocate/xfs "
    "xfs_vm_writepages/xfs wb_workfn",
    "xfs-unlinks": "schedule_timeout down xfs_buf_lock/xfs xfs_read_agi/xfs "
    "xfs_iunlink/xfs xfs_remove/xfs",
    "xfs-creates": "schedule_timeout down xfs_buf_lock/xfs xfs_read_agf/xfs "
    "xfs_ialloc_ag_alloc/xfs xfs_dialloc/xfs xfs_create/xfs",
    # btrfs.
    "btrfs-joins": "schedule wait_current_trans/btrfs start_transaction/btrfs "
    "btrfs_create/btrfs path_openat",
    "btrfs-commits": "io_schedule folio_wait_writeback "
    "btrfs_write_marked_extents/btrfs btrfs_commit_transaction/btrfs btrfs_ioctl/btrfs",
    "btrfs-waits": "schedule btrfs_commit_transaction/btrfs btrfs_ioctl/btrfs",
    "btrfs-joined": "io_schedule read_extent_buffer_pages/btrfs btrfs_cow_block/btrfs "
    "btrfs_search_slot/btrfs btrfs_insert_empty_items/btrfs btrfs_create/btrfs",
    "btrfs-follows": "schedule wait_for_commit/btrfs btrfs_commit_transaction/btrfs "
    "btrfs_sync_fs/btrfs",
    "btrfs-range": "schedule __lock_extent/btrfs btrfs_finish_one_ordered/btrfs "
    "process_one_work",
    "btrfs-fiemap": "io_schedule read_extent_buffer_pages/btrfs extent_fiemap/btrfs",
    "btrfs-ticket": "schedule handle_reserve_ticket/btrfs btrfs_buffered_write/btrfs",
    "btrfs-flush": "schedule btrfs_wait_ordered_extents/btrfs flush_space/btrfs "
    "btrfs_async_reclaim_metadata_space/btrfs process_one_work",
    # Locks of inodes.
    "opens": "schedule rwsem_down_write_slowpath down_write path_openat do_filp_open",
    "lists": "schedule down_read_killable iterate_dir __x64_sys_getdents64",
    "creates": "io_schedule __wait_on_buffer ext4_create/ext4 path_openat do_filp_open",
    "truncates": "io_schedule __wait_on_buffer ext4_setattr/ext4 notify_change "
    "do_truncate",
    "appends": "schedule down_write ext4_buffered_write_iter/ext4 vfs_write",
    "fsyncs": "io_schedule folio_wait_writeback ext4_sync_file/ext4 do_fsync",
    "lookup": "schedule d_alloc_parallel __lookup_slow lookup_slow path_lookupat",
    "looks-up": "io_schedule __wait_on_buffer ext4_lookup/ext4 lookup_slow "
    "path_lookupat",
    "freed": "schedule __wait_on_freeing_inode find_inode_fast iget_locked "
    "ext4_iget/ext4",
    "evicts": "io_schedule __wait_on_buffer ext4_evict_inode/ext4 evict dispose_list",
    "new": "schedule wait_on_inode iget_locked ext4_iget/ext4 ext4_lookup/ext4",
    "reads-inode": "io_schedule __wait_on_buffer ext4_iget/ext4 ext4_lookup/ext4",
    # Stacked devices, memory, processes, OpenZFS, f2fs.
    "array": "schedule raid5_get_active_stripe/raid456 raid5_make_request/raid456 "
    "md_submit_bio submit_bio_noacct xfs_vm_writepages/xfs wb_workfn",
    "md-thread": "io_schedule blk_mq_get_tag submit_bio_noacct ops_run_io/raid456 "
    "raid5d/raid456 md_thread kthread",
    "barrier": "schedule wait_barrier/raid10 raid10_make_request/raid10 md_submit_bio",
    "resync": "schedule raise_barrier/raid10 raid10_sync_request/raid10 md_do_sync "
    "md_thread kthread",
    "raid10d": "schedule wait_barrier/raid10 raid10_read_request/raid10 raid10d/raid10 "
    "md_thread kthread",
    "super": "schedule md_super_wait md_bitmap_unplug flush_bio_list/raid1 "
    "raid1_unplug/raid1 blk_finish_plug",
    "device-pages": "io_schedule blk_mq_get_tag submit_bio_noacct "
    "__block_write_full_folio writepage_cb write_cache_pages do_writepages "
    "writeback_sb_inodes wb_workfn",
    "quota": "schedule wait_for_completion btrfs_quota_disable/btrfs btrfs_ioctl/btrfs",
    "rescan": "io_schedule read_extent_buffer_pages/btrfs "
    "btrfs_qgroup_rescan_worker/btrfs process_one_work",
    "ordered": "schedule wait_current_trans/btrfs start_transaction/btrfs "
    "btrfs_finish_ordered_io/btrfs process_one_work",
    "exits": "schedule percpu_down_read exit_signals do_exit",
    "attaches": "schedule percpu_down_write __cgroup_procs_write cgroup_file_write",
    "reclaims-log": "schedule flush_work xlog_cil_force_seq/xfs __xfs_iunpin_wait/xfs "
    "xfs_reclaim_inode/xfs try_to_free_pages alloc_pages",
    "reconnects": "schedule mutex_lock smb2_reconnect/cifs smb2_plain_req_init/cifs",
    "reconnects-too": "schedule mutex_lock smb2_reconnect/cifs SMB2_open_init/cifs",
    "invalidates": "schedule mutex_lock cifs_mark_open_files_invalid/cifs "
    "smb2_reconnect/cifs SMB2_open_init/cifs",
    "crypt": "schedule wait_for_completion crypt_map/dm_crypt dm_submit_bio",
    "reclaims": "schedule throttle_direct_reclaim try_to_free_pages alloc_pages",
    "kswapd": "schedule xfs_buf_lock/xfs shrink_node balance_pgdat kswapd kthread",
    "ps": "schedule down_read_killable __access_remote_vm proc_pid_cmdline_read "
    "vfs_read",
    "faults": "io_schedule folio_wait_bit_common filemap_fault handle_mm_fault "
    "do_user_addr_fault",
    "zfs-throttled": "cv_wait_common/spl __cv_wait/spl dmu_tx_wait/zfs zfs_write/zfs",
    "zfs-synced": "cv_wait_common/spl __cv_wait/spl txg_wait_synced_impl/zfs "
    "zpl_fsync/zfs",
    "zfs-sync": "io_schedule cv_wait_common/spl zio_wait/zfs spa_sync/zfs "
    "txg_sync_thread/zfs",
    "f2fs-op": "schedule down_read f2fs_lock_op/f2fs f2fs_create/f2fs path_openat",
    "f2fs-checkpoint": "io_schedule f2fs_wait_on_all_pages/f2fs "
    "f2fs_write_checkpoint/f2fs issue_checkpoint_thread/f2fs",
}
LINKED = (
    ("fsync", "commit", LIKELY),
    ("handle", "updates", LIKELY),
    ("handle", "commit", LIKELY),
    ("updates", "orphan", LIKELY),
    ("updates", "extents", LIKELY),
    ("updates", "prepares", POSSIBLE),
    ("space", "checkpoint", LIKELY),
    ("page", "writes-page", LIKELY),
    ("page", "extents", LIKELY),
    ("page", "prepares", POSSIBLE),
    ("locks-page", "writes-page", LIKELY),
    ("under-writeback", "end-io", LIKELY),
    ("under-writeback", "extents", POSSIBLE),
    ("throttled", "extents", LIKELY),
    ("xfs-fsync", "xfs-push", LIKELY),
    ("xfs-iclog", "xfs-push", POSSIBLE),
    ("xfs-iclog", "xfs-ioend", LIKELY),
    ("xfs-push", "xfs-ioend", LIKELY),
    ("xfs-grant", "xfs-ail", LIKELY),
    ("xfs-buffer", "xfs-allocates", POSSIBLE),
    ("xfs-unlinks", "xfs-creates", POSSIBLE),
    ("btrfs-joins", "btrfs-commits", LIKELY),
    ("btrfs-follows", "btrfs-commits", LIKELY),
    ("btrfs-waits", "btrfs-joined", POSSIBLE),
    ("btrfs-range", "btrfs-fiemap", POSSIBLE),
    ("btrfs-ticket", "btrfs-flush", LIKELY),
    ("opens", "creates", POSSIBLE),
    ("lists", "creates", POSSIBLE),
    ("appends", "truncates", POSSIBLE),
    ("lookup", "looks-up", POSSIBLE),
    ("freed", "evicts", POSSIBLE),
    ("new", "reads-inode", POSSIBLE),
    ("array", "md-thread", LIKELY),
    ("reclaims", "kswapd", LIKELY),
    ("ps", "faults", POSSIBLE),
    ("zfs-throttled", "zfs-sync", LIKELY),
    ("zfs-synced", "zfs-sync", LIKELY),
    ("f2fs-op", "f2fs-checkpoint", LIKELY),
    ("barrier", "resync", POSSIBLE),
    ("resync", "raid10d", POSSIBLE),
    ("raid10d", "resync", POSSIBLE),
    ("quota", "rescan", LIKELY),
    ("ordered", "btrfs-waits", LIKELY),
    ("btrfs-waits", "ordered", POSSIBLE),
    ("exits", "attaches", POSSIBLE),
    ("reclaims-log", "xfs-push", LIKELY),
    ("reconnects", "invalidates", POSSIBLE),
)
APART = (
    ("fsync", "xfs-push"),
    ("xfs-fsync", "commit"),
    ("zfs-synced", "commit"),
    ("updates", "handle"),
    ("updates", "inactive"),
    ("updates", "xfs-flush"),
    ("page", "locks-page"),
    ("page", "xfs-flush"),
    ("reads-page", "extents"),
    ("under-writeback", "locks-page"),
    ("throttled", "xfs-flush"),
    ("throttled", "end-io"),
    ("btrfs-range", "btrfs-commits"),
    ("btrfs-commits", "btrfs-joined"),
    ("opens", "fsyncs"),
    ("opens", "truncates"),
    ("appends", "fsyncs"),
    ("appends", "creates"),
    ("lookup", "evicts"),
    ("freed", "looks-up"),
    ("crypt", "md-thread"),
    ("ps", "fsyncs"),
    ("reconnects", "reconnects-too"),
    ("super", "md-thread"),
    ("array", "raid10d"),
    ("under-writeback", "device-pages"),
)


def task(name: str, pid: int) -> Shown:
    """One of the stacks under its own name."""
    return Shown(name[:15], pid, STACKS[name])


@pytest.mark.parametrize(("waiter", "holder", "confidence"), LINKED)
def test_who_can_hold_it(waiter: str, holder: str, confidence: str) -> None:
    """In either order in the log."""
    one, other = task(waiter, 11), task(holder, 12)
    want = (other.comm, confidence)
    assert joined(one, other)[one.comm] == want
    assert joined(other, one)[one.comm] == want


@pytest.mark.parametrize(("waiter", "holder"), APART)
def test_who_cannot(waiter: str, holder: str) -> None:
    one, other = task(waiter, 11), task(holder, 12)
    assert one.comm not in joined(one, other)


@pytest.mark.parametrize("rule", [rule for rules in HOLDERS.values() for rule in rules])
def test_every_rule_cites_a_function(rule: object) -> None:
    """A file of the kernel or OpenZFS, and what it says of the wait."""
    source = getattr(rule, "source", "")
    assert re.search(
        r"(block|drivers|fs|include|io_uring|kernel|mm|module)/[\w/.-]+", source
    )
    assert getattr(rule, "why", "")


def test_several_holders_of_one_lock_are_no_answer() -> None:
    """Two directories are changed, and one is waited for; it is unknown which."""
    twin = Shown("creates-too", 13, STACKS["creates"])
    assert joined(task("opens", 11), task("creates", 12), twin) == {}


def test_one_of_several_handles_is_possible() -> None:
    """The commit waits for all of them, so the first is right, but may not be last."""
    twin = Shown("orphan-too", 13, STACKS["orphan"])
    links = joined(task("updates", 11), task("orphan", 12), twin)
    assert links == {"updates": ("orphan", POSSIBLE)}


def test_an_unknown_file_system_makes_a_link_possible_at_best() -> None:
    """A flusher without a function of a file system may be the block device's."""
    flush = Shown(
        "kworker/u8:1",
        12,
        "io_schedule blk_mq_get_tag submit_bio_noacct blkdev_writepages"
        " writeback_sb_inodes wb_workfn",
    )
    assert joined(task("throttled", 11), flush)["throttled"][1] == POSSIBLE
    twin = Shown("kworker/u8:2", 13, flush.stack)
    assert joined(task("throttled", 11), flush, twin) == {}


@pytest.mark.parametrize(
    ("journal", "flusher", "linked"),
    [
        ("jbd2/sda2-8", "8:0", True),
        ("jbd2/sda2-8", "8:16", False),
        ("jbd2/sdaa1-8", "65:160", True),
        ("jbd2/dm-3-8", "253:3", True),
        ("jbd2/dm-3-8", "253:4", False),
        ("jbd2/vdb-8", "254:16", True),
        ("jbd2/vdb-8", "254:0", False),
        ("jbd2/md0-8", "9:0", True),
        ("jbd2/md0-8", "8:0", False),
        ("jbd2/nvme0n1p2-", "259:0", True),
        ("jbd2/nvme0n1p2-", "8:0", False),
        ("jbd2/rbd0-8", "252:0", True),
    ],
)
def test_disks_that_differ(journal: str, flusher: str, linked: bool) -> None:
    """fs/fs-writeback.c names a flusher by its disk, fs/jbd2/journal.c its thread."""
    updates = Shown(journal, 11, STACKS["updates"])
    flush = Shown(
        "kworker/u8:1", 12, STACKS["extents"], f"writeback wb_workfn (flush-{flusher})"
    )
    assert (journal in joined(updates, flush)) is linked


def test_a_worker_of_the_waiters_ring() -> None:
    """io_uring/io-wq.c names a worker after the task it works for."""
    exits = Shown(
        "db", 50, "schedule io_wq_put_and_exit io_uring_cancel_generic do_exit"
    )
    stack = "io_schedule blk_mq_get_tag ext4_file_write_iter/ext4 io_write " + (
        "io_wq_submit_work io_worker_handle_work io_wq_worker"
    )
    own, strange = Shown("iou-wrk-50", 51, stack), Shown("iou-wrk-60", 61, stack)
    assert joined(exits, own, strange)["db"][0] == "iou-wrk-50"
    assert joined(exits, strange) == {}


def test_a_journal_serves_one_file_system_at_a_time() -> None:
    """fs/jbd2 serves ocfs2 and ext4; this thread is of one of the two."""
    start = "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    ocfs2 = Shown("ocfs2", 11, start + "ocfs2_start_trans/ocfs2 vfs_write")
    journal = task("updates", 12)
    assert joined(ocfs2, journal) == {"ocfs2": ("updates", LIKELY)}
    assert joined(ocfs2, journal, task("prepares", 13)) == {
        "ocfs2": ("updates", LIKELY)
    }
    links = joined(ocfs2, journal, task("orphan", 13))
    assert links == {"updates": ("orphan", LIKELY)}


def test_an_owner_at_ease_holds_nothing_else() -> None:
    """The kernel shows it for one lock; no rule may infer that it holds another."""
    said = "INFO: task opens:11 is blocked on a mutex likely owned by task creates:12."
    owner = Shown("creates", 12, STACKS["creates"], state="S")
    lists = task("lists", 13)
    answer = explained(task("opens", 11).report(said), owner.lines(), lists.report())
    assert list(named(answer)) == ["opens"]
