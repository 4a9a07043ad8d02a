# SPDX-License-Identifier: GPL-2.0-only
"""This test will link a waiter with the one that ends its wait, and with none that only
looks like one: pages of swap are no file's, a buffer's I/O is not its commit."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, joined
from writestall.log.headline import sentence
from writestall.log.links import LIKELY, POSSIBLE

THREAD = " kthread ret_from_fork"
WORK = " process_one_work worker_thread" + THREAD
COMMITS = "jbd2_journal_commit_transaction/jbd2 kjournald2/jbd2" + THREAD
HANDLE = "do_get_write_access/jbd2 ext4_reserve_inode_write/ext4 ext4_dirty_inode/ext4"
STARTS = (
    "schedule start_this_handle/jbd2 jbd2__journal_start/jbd2 ext4_dirty_inode/ext4"
)
FLUSHES = " ext4_writepages/ext4 do_writepages writeback_sb_inodes wb_workfn" + WORK
SWAPS = "io_schedule mempool_alloc submit_bio __swap_writepage swap_writepage pageout"
LOCKS = "io_schedule __lock_page "
# Who waits, who ends that.
LINKED = (
    (
        "schedule __fuse_request_send fuse_flush_times __writeback_single_inode",
        "schedule inode_wait_for_writeback evict super_cache_scan try_to_free_pages "
        "fuse_copy_fill fuse_dev_do_read",
    ),
    (
        "schedule action_store/md_mod md_attr_store/md_mod",
        "schedule raid5_get_active_stripe/raid456 md_do_sync/md_mod md_thread/md_mod",
    ),
    (
        "schedule rwsem_down_write_slowpath xfs_ilock/xfs xfs_file_buffered_write/xfs",
        "schedule __down xfs_buf_lock/xfs xfs_free_eofblocks/xfs xfs_icwalk_ag/xfs "
        "xfs_blockgc_worker/xfs" + WORK,
    ),
    (
        "schedule rwsem_down_write_failed xfs_ilock/xfs xfs_setattr/xfs notify_change",
        "schedule mutex_lock generic_file_splice_write xfs_file_splice_write/xfs",
    ),
    (
        "schedule mutex_lock generic_file_splice_write xfs_file_splice_write/xfs",
        "schedule rwsem_down_write_failed xfs_ilock/xfs xfs_setattr/xfs notify_change",
    ),
    (
        "schedule wait_for_completion __synchronize_srcu fsnotify_destroy_group",
        "schedule fanotify_handle_event fsnotify security_file_open do_dentry_open",
    ),
    (
        "schedule afs_get_io_locks/kafs afs_begin_vnode_operation/kafs afs_writepages",
        "io_schedule wait_on_page_bit truncate_inode_pages_range "
        "afs_wait_for_operation/kafs afs_setattr/kafs",
    ),
    (
        "schedule rwsem_down_write_slowpath do_remount path_mount",
        "schedule blk_mq_get_tag ext4_writepages/ext4 writeback_sb_inodes "
        "__writeback_inodes_wb wb_writeback wb_workfn" + WORK,
    ),
    (
        LOCKS + "mpage_prepare_extent_to_map/ext4" + FLUSHES,
        "io_schedule wait_on_page_bit write_cache_pages "
        "journal_submit_data_buffers/jbd2 " + COMMITS,
    ),
    (
        LOCKS + "write_cache_pages fuse_writepages do_writepages wb_workfn",
        "schedule fuse_wait_on_page_writeback fuse_perform_write fuse_file_write_iter",
    ),
    (
        "io_schedule __folio_lock migrate_pages_batch migrate_pages compact_zone",
        "io_schedule __folio_lock z_erofs_runqueue z_erofs_readahead read_pages "
        "page_cache_ra_order filemap_get_pages filemap_read",
    ),
    (
        "io_schedule __folio_lock z_erofs_runqueue z_erofs_readahead read_pages "
        "page_cache_ra_order filemap_get_pages filemap_read",
        "io_schedule __folio_lock migrate_pages_batch migrate_pages compact_zone",
    ),
    (
        "io_schedule folio_wait_writeback migrate_pages_batch compact_zone",
        "io_schedule __filemap_get_folio shmem_write_begin loop_process_work" + WORK,
    ),
    (
        "schedule mutex_lock hfs_find_init hfs_ext_write_extent hfs_write_inode",
        "schedule mutex_lock hfs_find_init hfs_ext_read_extent hfs_extend_file "
        "hfs_bmap_reserve __hfs_ext_write_extent hfs_get_block",
    ),
    (
        "schedule synchronize_rcu_expedited namespace_unlock do_exit",
        "schedule rcu_exp_wait_wake wait_rcu_exp_gp" + WORK,
    ),
    (
        "schedule nfs_wait_bit_killable nfs4_wait_clnt_recover nfs4_do_open",
        "schedule nfs4_run_state_manager/nfsv4" + THREAD,
    ),
    (
        "schedule btrfs_commit_transaction/btrfs transaction_kthread/btrfs" + THREAD,
        "io_schedule wait_on_page_bit btrfs_wait_marked_extents/btrfs "
        "btrfs_sync_log/btrfs btrfs_sync_file/btrfs do_fsync",
    ),
    (
        "schedule mutex_lock btrfs_sync_log/btrfs btrfs_sync_file/btrfs do_fsync",
        "io_schedule wait_on_page_bit btrfs_wait_marked_extents/btrfs "
        "btrfs_sync_log/btrfs btrfs_sync_file/btrfs do_fsync",
    ),
    (
        "schedule __bio_queue_enter submit_bio_noacct ext4_io_submit/ext4",
        "schedule wait_for_completion_io blk_execute_rq nvme_identify_ctrl/nvme_core "
        "nvme_reset_work/nvme" + WORK,
    ),
    (
        "schedule mutex_lock ubifs_write_inode __writeback_single_inode" + WORK,
        "schedule wb_wait_for_completion ubifs_budget_space do_rename ubifs_rename",
    ),
    (
        "schedule " + COMMITS,
        "io_schedule wait_on_page_bit grab_cache_page_write_begin "
        "ext4_da_write_begin/ext4 generic_file_buffered_write generic_file_aio_write",
    ),
    (
        "schedule xfs_iget/xfs xfs_ialloc/xfs xfs_dir_ialloc/xfs xfs_create/xfs",
        "schedule down xfs_buf_lock/xfs xfs_alloc_read_agf/xfs "
        "xfs_agfl_free_finish_item/xfs xfs_inactive_ifree/xfs xfs_inactive/xfs evict",
    ),
    (
        "btrfs_chunk_alloc/btrfs find_free_extent/btrfs btrfs_reserve_extent/btrfs "
        "btrfs_cow_block/btrfs btrfs_search_slot/btrfs",
        "schedule rwsem_down_read_slowpath btrfs_read_lock_root_node/btrfs "
        "btrfs_create_pending_block_groups/btrfs btrfs_end_transaction/btrfs",
    ),
    (
        "io_schedule folio_wait_bit_common __filemap_get_folio hugetlb_fault",
        "schedule __mutex_lock hugetlb_wp hugetlb_fault do_user_addr_fault",
    ),
    (
        "schedule do_wait kernel_wait4 zap_pid_ns_processes do_exit",
        "schedule request_wait_answer fuse_flush filp_close do_exit",
    ),
    (
        "schedule rwsem_down_read_failed down_read SyS_madvise",
        "io_schedule __lock_page deferred_split_scan shrink_slab try_to_free_pages "
        "__alloc_pages_nodemask handle_mm_fault __do_page_fault",
    ),
)
# Who has nothing that the other waits for.
APART = {
    "lock of a buffer": (
        f"io_schedule __lock_buffer {HANDLE}",
        f"io_schedule __wait_on_buffer {COMMITS}",
    ),
    "commit that has written no buffer": (
        f"io_schedule bit_wait_io {HANDLE}",
        "schedule __bio_queue_enter submit_bh jbd2_journal_write_revoke_records "
        + COMMITS,
    ),
    "page that a kernel since 3.16 looks for": (
        "schedule " + COMMITS,
        "io_schedule wait_on_page_bit grab_cache_page_write_begin "
        "ext4_da_write_begin/ext4 generic_perform_write ext4_buffered_write_iter/ext4",
    ),
    "fault of another file": (
        LOCKS + "filemap_fault do_fault handle_mm_fault",
        "io_schedule get_request_wait ext4_writepage/ext4" + FLUSHES,
    ),
    "page of swap": (
        LOCKS + "do_swap_page handle_mm_fault",
        "io_schedule get_request_wait ext4_writepage/ext4" + FLUSHES,
    ),
    "page to swap": (
        "io_schedule wait_on_page_bit write_cache_pages " + COMMITS,
        f"{SWAPS} shrink_page_list kswapd" + THREAD,
    ),
    "page that is read": (
        LOCKS + "mpage_prepare_extent_to_map/ext4" + FLUSHES,
        "schedule blk_mq_get_tag page_cache_ra_unbounded filemap_fault",
    ),
    "who writes itself": (
        "schedule get_active_stripe ext4_writepages/ext4 writeback_inodes_wb "
        "balance_dirty_pages",
        "schedule get_active_stripe" + FLUSHES,
    ),
    "who waits for the AGI first": (
        "schedule down xfs_buf_lock/xfs xfs_imap_to_bp/xfs xfs_trans_log_inode/xfs",
        "schedule down xfs_buf_lock/xfs xfs_read_agi/xfs xfs_iunlink_remove/xfs "
        "xfs_ifree/xfs xfs_inactive/xfs",
    ),
}


@pytest.mark.parametrize(("waiter", "holder"), LINKED)
def test_who_ends_it(waiter: str, holder: str) -> None:
    links = joined(Shown("task-1", 1, waiter), Shown("task-2", 2, holder))
    assert links["task-1"][0] == "task-2"


@pytest.mark.parametrize("name", APART)
def test_who_does_not(name: str) -> None:
    waiter, holder = APART[name]
    links = joined(Shown("task-1", 1, waiter), Shown("task-2", 2, holder))
    assert "task-1" not in links


def test_of_two_journals_the_one_that_waits_for_handles_keeps_new_ones_out() -> None:
    """fs/jbd2/transaction.c: its transaction alone is T_LOCKED."""
    rows = (
        Shown("jbd2/sda2-8", 1, f"schedule {COMMITS}"),
        Shown("jbd2/sda6-8", 2, f"io_schedule __wait_on_buffer {COMMITS}"),
        Shown("starts", 3, STARTS),
        Shown("has-handle", 4, f"io_schedule __lock_buffer {HANDLE}"),
    )
    assert joined(*rows) == {
        "starts": ("jbd2/sda2-8", LIKELY),
        "jbd2/sda2-8": ("has-handle", LIKELY),
    }


def test_a_work_that_ends_writeback_may_wait_for_its_own_in_reclaim() -> None:
    stack = (
        "io_schedule wait_on_page_bit shrink_page_list try_to_free_pages "
        "kmem_cache_alloc xfs_iomap_write_unwritten/xfs xfs_end_io/xfs"
    )
    row = Shown("kworker/0:1", 1, stack + WORK)
    assert joined(row) == {"kworker/0:1": ("kworker/0:1", POSSIBLE)}


def test_a_second_look_at_one_proc_stack_is_the_same_task() -> None:
    head = "==> /proc/31872/task/31872/stack <=="
    end = [f"[<0>] {name}+0x5/0x90" for name in ("do_syscall_64", "entry_SYSCALL_64")]
    looks = [[head, f"[<0>] {name}+0x1/0x9", *end] for name in ("btrfs_a", "btrfs_b")]
    assert {task.name for task in explained(*looks).tasks} == {"pid 31872"}


def test_who_reads_pages_in_may_have_locked_the_one_that_it_is_to_move() -> None:
    stack = (
        "io_schedule __lock_page unmap_and_move migrate_pages compact_zone "
        "__alloc_pages_nodemask bio_alloc mpage_readpages ext4_readpages/ext4 "
        "__do_page_cache_readahead generic_file_aio_read"
    )
    assert joined(Shown("cp", 1, stack)) == {"cp": ("cp", POSSIBLE)}


def test_who_closes_a_folder_of_overlayfs_may_have_its_lock() -> None:
    stack = (
        "schedule down_write ovl_dir_release/overlay __fput delayed_fput "
        "flush_delayed_fput nfsd_file_close_inode_sync/nfsd nfsd_unlink/nfsd"
    )
    assert joined(Shown("nfsd", 1, stack)) == {"nfsd": ("nfsd", POSSIBLE)}


def test_a_function_that_calls_itself_has_the_lock_that_it_waits_for() -> None:
    """fs/f2fs/data.c __f2fs_write_data_pages(), with the option data_flush."""
    inner = "schedule __mutex_lock f2fs_write_data_pages/f2fs f2fs_sync_dirty_inodes "
    outer = "f2fs_write_cache_pages/f2fs f2fs_write_data_pages/f2fs do_writepages"
    rows = (
        Shown("flushes", 1, f"{inner}f2fs_balance_fs_bg/f2fs {outer}"),
        Shown("cp", 2, f"{inner}f2fs_balance_fs_bg/f2fs f2fs_mkdir/f2fs vfs_mkdir"),
    )
    once = dict.fromkeys(("flushes", "cp"), ("flushes", POSSIBLE))
    assert joined(*rows) == once
    assert "writepages" in sentence(explained(*(row.report() for row in rows)), "")


def test_a_function_that_waits_for_an_event_does_not_wait_for_itself() -> None:
    name = "jbd2_journal_commit_transaction/jbd2"
    assert joined(Shown("jbd2/sda1-8", 1, f"__wait_on_buffer {name} {name}")) == {}


def test_stacks_of_crash_without_numbers_and_addresses() -> None:
    stacks = [
        ["schedule", "jbd2_journal_commit_transaction", "kjournald2", "kthread"],
        ["schedule", "io_schedule", "ext4_reserve_inode_write", "do_syscall_64"],
    ]
    text = []
    for names in stacks:
        text.append("Its stack is:")
        text += [
            f" {at} [] {name} at ffffffff970{at}0a0"
            for at, name in enumerate(["__schedule", *names])
        ]
    (link,) = explained(text).links.values()
    assert link.why == "it has a handle open, and the commit waits for all handles"


def test_stacks_of_crash_with_dots_for_addresses() -> None:
    names = ("__schedule", "schedule", "rwsem_down_write_slowpath", "prealloc_shrinker")
    text = ['  PID: 5464  TASK: ...  CPU: 3  COMMAND: "mount"']
    text += [f"    #{at} [...] {name} at ..." for at, name in enumerate(names)]
    (task,) = explained([f"> {line}" for line in text]).tasks
    assert (task.name, task.caller) == ("mount/5464", "prealloc_shrinker")


def test_callbacks_of_wakers_are_no_callers() -> None:
    """Kernels that search a stack for addresses print them without a mark."""
    names = "autoremove_wake_function md_write_start autoremove_wake_function raid1"
    (task,) = explained(Shown("pdflush", 1, names).lines()).tasks
    assert [frame.symbol for frame in task.frames] == ["md_write_start", "raid1"]


def test_a_head_of_old_kernels_with_capital_digits() -> None:
    head = "pdflush       D F7C0CC9C     0   161     11           163   160 (L-TLB)"
    (task,) = explained(
        [head, "Call Trace:", "[<c0100018>] md_write_start+0x1/0x9"]
    ).tasks
    assert task.name == "pdflush/161"


def test_a_pid_alone_names_the_stack_below() -> None:
    text = ["pid: 947", "stack:", "[<ffffffff81000160>] jbd2_log_wait_commit+0x1/0x9"]
    (task,) = explained(text).tasks
    assert task.name == "pid 947"
    # Prose inside a stack is none.
    shown = Shown("a", 1, "schedule jbd2_log_wait_commit ext4_sync_file").lines()
    (task,) = explained([*shown[:3], "blocks due to", "pid 2", *shown[3:]]).tasks
    assert task.caller == "jbd2_log_wait_commit"


def test_a_switch_begins_another_stack_without_a_name() -> None:
    switch = ["__switch_to+0x1/0x9", "schedule+0x1/0x9"]
    text = [*switch, "percpu_down_write+0x1/0x9", "cgroup_attach+0x1/0x9", "a+0x1/0x9"]
    text += [*switch, "jbd2_log_wait_commit+0x1/0x9", "copy_process+0x1/0x9"]
    tasks = explained(
        ["Call Trace:", *(f"[c000] [c001] {name}" for name in text)]
    ).tasks
    assert [task.caller for task in tasks] == ["cgroup_attach", "jbd2_log_wait_commit"]
