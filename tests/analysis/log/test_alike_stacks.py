# SPDX-License-Identifier: GPL-2.0-only
"""This test will link no task to one with the same stack, give one of a pool of workers
that all do the same, and use doubtful frames where no other shows who waits."""

from __future__ import annotations

from log_stacks import Shown, explained, joined, named
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
