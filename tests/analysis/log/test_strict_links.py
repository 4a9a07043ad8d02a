# SPDX-License-Identifier: GPL-2.0-only
"""This test will draw no link, or a less sure one, where a second task may hold the
lock, or where the stacks do not show which of several objects is meant."""

from __future__ import annotations

from log_stacks import Shown, explained, joined, named
from writestall.log.links import LIKELY, POSSIBLE

THREAD = " kthread ret_from_fork"
WORK = " process_one_work worker_thread kthread"
TAG = "io_schedule blk_mq_get_tag blk_mq_submit_bio submit_bio_noacct "
COMMITS = "schedule jbd2_journal_commit_transaction kjournald2" + THREAD
STACKS = {
    "page": "io_schedule folio_wait_bit_common folio_lock pagecache_get_page "
    "ext4_write_begin/ext4 generic_perform_write",
    "writes-page": TAG + "ext4_io_submit/ext4 mpage_submit_folio/ext4 "
    "ext4_writepages/ext4 do_writepages",
    "truncates": "io_schedule folio_wait_writeback truncate_inode_pages_range "
    "ext4_setattr/ext4",
    "directory": "schedule rwsem_down_write_slowpath down_write open_last_lookups "
    "path_openat",
    "in-directory": "schedule wait_transaction_locked/jbd2 start_this_handle/jbd2 "
    "ext4_create/ext4 lookup_open open_last_lookups path_openat",
    "next-lock": "schedule rwsem_down_write_slowpath down_write vfs_unlink do_unlinkat",
    "commit": "schedule jbd2_log_wait_commit/jbd2 ext4_sync_file/ext4",
    "delalloc": "io_schedule folio_wait_bit_common folio_lock "
    "lock_delalloc_folios/btrfs writepage_delalloc/btrfs extent_writepage/btrfs",
    "cleans": "io_schedule folio_wait_bit_common folio_lock "
    "cleanup_dirty_folios/btrfs run_delalloc_nocow/btrfs extent_writepage/btrfs",
    "discards": "ext4_mb_new_blocks/ext4 ext4_ext_map_blocks/ext4",
    "gets-access": "io_schedule bit_wait_io __lock_buffer do_get_write_access/jbd2 "
    "ext4_mb_new_blocks/ext4 ext4_ext_map_blocks/ext4",
    "flushes": "schedule_timeout __wait_for_common __flush_work foo_stop/foodev",
    "flushes-queue": "schedule_timeout __wait_for_common __flush_workqueue "
    "foo_stop/foodev",
    "one-work": TAG + "foo_one_work/foodev" + WORK,
    "other-work": "schedule foo_other_work/foodev" + WORK,
    "stops": "schedule_timeout __wait_for_common kthread_stop foo_stop/foodev",
    "thread": TAG + "foo_thread/foodev" + THREAD,
}


def shown(name: str, pid: int, comm: str = "") -> Shown:
    return Shown(comm or name, pid, STACKS[name])


def test_a_second_who_may_have_the_page_makes_the_first_less_sure() -> None:
    waiter, writer = shown("page", 11), shown("writes-page", 12)
    assert joined(waiter, writer)["page"] == ("writes-page", LIKELY)
    again = joined(waiter, writer, shown("truncates", 13))
    assert again["page"] == ("writes-page", POSSIBLE)


def test_of_two_who_may_have_a_directory_for_two_reasons_none_is_given() -> None:
    """Which directory a task has, its stack does not show."""
    waiter, inside = shown("directory", 11), shown("in-directory", 12)
    assert joined(waiter, inside)["directory"] == ("in-directory", POSSIBLE)
    assert "directory" not in joined(waiter, inside, shown("next-lock", 13))


def test_of_the_journals_of_two_disks_none_is_given() -> None:
    """Whose commit is waited for, a call's stack does not show."""
    waiter = shown("commit", 11)
    one, other = (
        Shown(f"jbd2/sd{at}1-8", 20 + n, COMMITS) for n, at in enumerate("ab")
    )
    assert joined(waiter, one)["commit"] == ("jbd2/sda1-8", LIKELY)
    assert "commit" not in joined(waiter, one, other)


def test_who_waits_for_no_lock_waits_for_no_holder_of_one() -> None:
    """A stack that ends in a function that also takes a lock."""
    assert joined(shown("discards", 11), shown("gets-access", 12)) == {}


def test_a_rule_that_fits_both_ways_tells_nothing() -> None:
    """Each has a page locked, and waits for another one's lock."""
    rows = shown("delalloc", 11), shown("cleans", 12)
    assert named(explained(*(row.report() for row in rows))) == {}


def test_of_two_works_of_a_module_only_a_flush_of_the_queue_waits_for_both() -> None:
    works = shown("one-work", 12), shown("other-work", 13)
    assert joined(shown("flushes", 11), works[0])["flushes"] == ("one-work", POSSIBLE)
    assert "flushes" not in joined(shown("flushes", 11), *works)
    assert joined(shown("flushes-queue", 11), *works)["flushes-queue"] == (
        "one-work",
        POSSIBLE,
    )


def test_the_only_thread_of_the_module_is_the_one_that_is_to_end() -> None:
    thread = shown("thread", 12)
    assert joined(shown("stops", 11), thread)["stops"] == ("thread", POSSIBLE)
    twice = shown("thread", 13, "thread-2")
    assert "stops" not in joined(shown("stops", 11), thread, twice)


def test_who_takes_another_mutex_under_it_still_waits_for_the_first() -> None:
    """drivers/md/bcache/super.c register_bcache(): bch_register_lock, then others."""
    inside = "schedule __closure_sync bch_btree_set_root register_bcache vfs_write"
    waiter = Shown(
        "second",
        11,
        "schedule __mutex_lock mutex_lock register_bcache kobj_attr_store vfs_write",
    )
    answer = explained(waiter.report(), Shown("first", 12, inside).report())
    (link,) = answer.links.values()
    assert link.waiter.task.comm == "second"
    assert link.why == "it is in register_bcache(), which holds bch_register_lock"
