# SPDX-License-Identifier: GPL-2.0-only
"""This test will name tasks that can be the holder, and no others."""

from __future__ import annotations

from writestall.classify.frames import frame
from writestall.log.headline import sentence
from writestall.log.links import LIKELY, POSSIBLE, LogAnswer, explain_log
from writestall.log.reading import LoggedTask

FSYNC_F2FS = "schedule wait_for_completion f2fs_issue_checkpoint f2fs_sync_fs do_fsync"
CHECKPOINT = (
    "schedule down_write __write_checkpoint_sync issue_checkpoint_thread kthread"
)
FROZEN = "schedule percpu_rwsem_wait __percpu_down_read vfs_write ksys_write"
FREEZE = "schedule percpu_down_write freeze_super do_vfs_ioctl"
FLUSH_XFS = "io_schedule rq_qos_wait submit_bio xfs_vm_writepages wb_workfn"
FLUSH_EXT4 = "io_schedule rq_qos_wait submit_bio ext4_writepages wb_workfn"
PAGE_EXT4 = "io_schedule __folio_lock ext4_da_write_begin vfs_write ksys_write"
ILOCK_EXT4 = "schedule down_write ext4_da_get_block_prep ext4_da_write_begin vfs_write"
HANDLE_EXT4 = (
    "schedule start_this_handle jbd2__journal_start ext4_dirty_inode vfs_write"
)
DELAYED = "schedule wait_for_completion btrfs_async_run_delayed_refs finish_ordered_fn"
ORDERED = (
    "schedule btrfs_start_ordered_extent btrfs_commit_transaction transaction_kthread"
)
RANGE = "schedule __lock_extent btrfs_finish_one_ordered process_one_work"
FIEMAP = "schedule wait_current_trans start_transaction extent_fiemap do_vfs_ioctl"
COMMITS = "schedule btrfs_commit_transaction btrfs_mksubvol __x64_sys_ioctl"
MAPS_EXT4 = (
    "io_schedule ext4_read_block_bitmap ext4_mb_new_blocks ext4_map_create_blocks "
    "ext4_writepages wb_workfn"
)
UPDATES = (
    "schedule jbd2_journal_wait_updates jbd2_journal_commit_transaction kjournald2"
)


def answer(*stacks: str) -> LogAnswer:
    """The answer for tasks that were reported together, in this order."""
    found = []
    for number, stack in enumerate(stacks, 1):
        frames = [frame(symbol, None) for symbol in stack.split()]
        found.append(LoggedTask(number, f"task{number}", number, "D", None, frames))
    return explain_log(found)


def test_a_frozen_file_system_waits_for_its_freezer() -> None:
    """It does not wait for other tasks that sleep in it."""
    said = answer(FROZEN, FREEZE, FROZEN)
    assert {at: link.holder.task.pid for at, link in said.links.items()} == {0: 2, 2: 2}
    # Neither shows its file system.
    assert said.links[0].confidence == POSSIBLE
    assert answer(FROZEN, FLUSH_EXT4).links == {}


def test_another_file_system_holds_nothing_of_this_one() -> None:
    """The flusher of XFS does not lock pages of ext4."""
    said = answer(PAGE_EXT4, FLUSH_XFS, FLUSH_EXT4)
    assert said.links[0].holder.task.pid == 3
    assert answer(PAGE_EXT4, FLUSH_XFS).links == {}


def test_who_waits_for_a_handle_holds_no_inner_lock() -> None:
    """i_data_sem is taken inside a handle, so the waiter for one has none yet."""
    assert answer(ILOCK_EXT4, HANDLE_EXT4).links == {}
    assert answer(ILOCK_EXT4, FLUSH_EXT4).links == {}
    assert answer(ILOCK_EXT4, MAPS_EXT4).links[0].confidence == POSSIBLE


def test_delayed_references_wait_for_no_commit() -> None:
    """The commit waits for the worker here; the opposite link would be a cycle."""
    said = answer(DELAYED, ORDERED)
    assert 0 not in said.links and said.links[1].holder.task.pid == 1


def test_a_checkpoint_holds_up_an_fsync() -> None:
    """Both waits are of one class; that of the thread itself has no holder."""
    said = answer(FSYNC_F2FS, CHECKPOINT)
    assert said.links[0].holder.task.pid == 2 and 1 not in said.links


def test_a_cycle_of_three_rules() -> None:
    """A commit waits for a joined task, that for a range, whose holder waits for the
    commit."""
    said = answer(COMMITS, RANGE, FIEMAP)
    found = {at: link.holder.task.pid for at, link in said.links.items()}
    assert found == {0: 2, 1: 3, 2: 1}
    assert [said.links[at].confidence for at in range(3)] == [
        POSSIBLE,
        POSSIBLE,
        LIKELY,
    ]
    assert said.circle(0) and "circle" in sentence(said, "log")
    assert "deadlock" not in sentence(said, "log")


def test_the_sentence_for_a_commit_that_waits_for_handles() -> None:
    """It names what a commit waits for, not that it waits for a transaction."""
    said = answer(HANDLE_EXT4, UPDATES)
    assert "waits until every handle of its transaction has stopped" in sentence(
        said, "log"
    )
