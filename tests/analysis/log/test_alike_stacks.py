# SPDX-License-Identifier: GPL-2.0-only
"""This test will link no task to one with the same stack, give one of a pool of workers
that all do the same, and use doubtful frames where no other shows who waits."""

from __future__ import annotations

from log_stacks import Shown, assert_linked, explained, joined, named
from writestall.log.headline import sentence
from writestall.log.links import POSSIBLE

WORK = " process_one_work worker_thread kthread"
ENDS_IO = "schedule schedule_timeout __wait_for_common __flush_work foofs_bio_end/foofs"
PAGE = "io_schedule folio_wait_writeback truncate_inode_pages_range evict dput"
CRYPTS = (
    "schedule md_bitmap_startwrite raid5_make_request/raid456 md_handle_request "
    "submit_bio_noacct kcryptd_crypt/dm_crypt"
)
LOGS = (
    "schedule rwsem_down_read_slowpath down_read update_writeback_rate/bcache",
    "schedule rwsem_down_write_slowpath down_write bch_writeback_thread/bcache kthread",
    "schedule bch_bucket_alloc/bcache bch_data_insert_start/bcache",
)


def test_workers_of_one_stack_do_not_wait_for_each_other() -> None:
    workers = [Shown(f"kworker/{pid}", pid, ENDS_IO + WORK) for pid in (11, 12, 13)]
    assert joined(*workers) == {}


def test_one_of_a_pool_is_given() -> None:
    pool = [
        Shown(f"kworker/{pid}", pid, CRYPTS + WORK, "kcryptd/253:4 kcryptd_crypt")
        for pid in (21, 22, 23)
    ]
    assert joined(Shown("renames", 11, PAGE), *pool) == {
        "renames": ("kworker/21", POSSIBLE)
    }


def test_none_of_two_pools_is_given() -> None:
    """Two mapped devices: whose the page is nobody knows."""
    pool = [
        Shown(f"kworker/{pid}", pid, CRYPTS + WORK, f"kcryptd/253:{pid} kcryptd_crypt")
        for pid in (21, 22)
    ]
    assert joined(Shown("renames", 11, PAGE), *pool) == {}


def test_what_is_unclear_later_is_answered_by_the_better_rule_before() -> None:
    """The last reports lack the one that a rule knows, and have two others."""
    rate, thread, inserts = LOGS
    rows = [
        Shown("rate", 11, rate + WORK),
        Shown("thread", 12, thread),
        *(Shown(f"inserts-{pid}", pid, inserts + WORK) for pid in (13, 14)),
    ]
    again = [rows[0], *rows[2:]]
    links = named(
        explained(*(row.report() for row in rows), *(row.report() for row in again))
    )
    assert links["rate"] == ("thread", POSSIBLE)


def test_doubtful_frames_show_who_waits() -> None:
    """Where schedule() alone is sure, the rest of the stack is of use."""
    stack = "suspends_foo/foo md_handle_request submit_bio_noacct"
    doubtful = [
        *Shown("writes", 11, "__schedule").lines()[:-1],
        *(f" ? {name.partition('/')[0]}+0x10/0x90" for name in stack.split()),
        " </TASK>",
    ]
    answer = explained("sysrq: Show Blocked State", doubtful)
    assert answer.tasks[0].caller == "suspends_foo"
    assert answer.tasks[0].guessed


def test_a_task_that_waits_alike_at_two_places_is_named_once() -> None:
    """Two reports of it: one stack was cut off."""
    log = [
        *Shown("copier", 11, "io_schedule bt_get ext4_io_submit/ext4").report(),
        *Shown("copier", 11, "io_schedule bt_get").report(),
        *Shown("sleeps", 12, "schedule pause_of_foofs").report(),
    ]
    assert "copier/11 (other) waits for room" in sentence(explained(log), "log")


def test_what_a_clock_left_on_a_stack_is_not_who_sleeps() -> None:
    log = Shown("thread", 12, "schedule schedule_timeout ktime_get").report()
    assert "its stack does not show for what" in sentence(explained(log), "log")


def test_a_journals_thread_whose_stack_was_cut_off_is_in_a_commit() -> None:
    """It waits for work interruptibly: fs/jbd2/journal.c kjournald2()."""
    gets = "io_schedule bit_wait_io out_of_line_wait_on_bit do_get_write_access/jbd2 "
    waiter = Shown("writes", 11, gets + "ext4_dirty_inode/ext4")
    thread = Shown("jbd2/vda1-8", 12, "schedule")
    assert_linked(waiter, thread, POSSIBLE)
    assert joined(waiter, Shown("app", 12, "schedule")) == {}


def test_two_renames_over_whiteouts_may_have_each_others_group() -> None:
    """The same stack: fs/xfs/xfs_inode.c xfs_rename()."""
    waits = "schedule_timeout __down down xfs_buf_lock/xfs xfs_buf_find/xfs "
    stack = waits + "xfs_read_agi/xfs xfs_iunlink/xfs xfs_rename/xfs vfs_rename"
    one, other = Shown("moves", 11, stack), Shown("also-moves", 12, stack)
    assert_linked(one, other, POSSIBLE)
    assert_linked(other, one, POSSIBLE)
