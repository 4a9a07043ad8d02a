# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the two tasks of which one has what a third waits for, and say
where tasks wait for each other whichever it is."""

from __future__ import annotations

from log_stacks import Shown, explained
from writestall.log.headline import root, sentence
from writestall.log.links import LogAnswer
from writestall.log.next_steps import said
from writestall.log.text import log_json, report

FAULTS = "schedule fuse_wait_on_page_writeback fuse_page_mkwrite do_page_mkwrite"
WRITES = "io_schedule __lock_page write_cache_pages fuse_writepages do_writepages "
ROWS = {
    "map-1": FAULTS,
    "map-2": FAULTS + " do_wp_page",
    "flusher": WRITES + "writeback_sb_inodes wb_workfn",
    "syncs": WRITES + "fuse_fsync vfs_fsync_range",
}


def _answer(*names: str) -> LogAnswer:
    rows = (Shown(name, 10 + at, ROWS[name]) for at, name in enumerate(names))
    return explained(*(row.report() for row in rows))


def test_tasks_that_wait_for_each_other_whichever_it_is() -> None:
    answer = _answer(*ROWS)
    assert not answer.links
    assert "4 of them may wait in a circle (a guess, no proof): " in sentence(
        answer, ""
    )
    assert said(answer, root(answer)).startswith("prove the circle: ")
    rows = log_json(answer)["tasks"]
    assert [row["either"] for row in rows] == [[2, 3], [2, 3], [0, 1], [0, 1]]


def test_both_are_named_where_a_circle_is_not_certain() -> None:
    answer = _answer("map-1", "map-2", "flusher")
    text = "\n".join(report(answer, "log"))
    assert "either: map-1/10 or map-2/11  (it may hold a page's lock)" in text


def test_who_follows_a_ring_is_counted_with_it() -> None:
    behind = Shown("behind", 20, "schedule wb_wait_for_completion sync_inodes_sb")
    rows = [Shown(name, 10 + at, ROWS[name]) for at, name in enumerate(ROWS)]
    answer = explained(*(row.report() for row in [*rows, behind]))
    assert "5 of them may wait in a circle" in sentence(answer, "")


def test_the_end_of_a_chain_names_both() -> None:
    inode = "schedule mutex_lock vfs_unlink do_unlinkat"
    holds = "schedule rwsem_down_write_slowpath xfs_ilock/xfs xfs_setattr/xfs "
    rows = (
        Shown("waits", 1, inode),
        Shown("holds", 2, holds + "notify_change do_truncate"),
        Shown("splices-1", 3, "io_schedule get_page xfs_file_splice_write/xfs x"),
        Shown("splices-2", 4, "io_schedule get_page xfs_file_splice_write/xfs y"),
    )
    said_of = sentence(explained(*(row.report() for row in rows)), "")
    assert "(splices-1/3 or splices-2/4 may end that)" in said_of


def test_a_circle_beside_a_ring_is_not_of_it() -> None:
    """What the ring leads to is; two that hold each other's lock are apart."""
    rows = [Shown(name, 10 + at, ROWS[name]) for at, name in enumerate(ROWS)]
    inode = "schedule rwsem_down_write_failed xfs_ilock/xfs xfs_setattr/xfs "
    rows += [
        Shown("truncates", 20, inode + "notify_change do_truncate"),
        Shown(
            "splices",
            21,
            "schedule mutex_lock generic_file_splice_write xfs_file_splice_write/xfs",
        ),
    ]
    answer = explained(*(row.report() for row in rows))
    assert len(answer.links) == 2
    names = {answer.tasks[at].task.comm for at in answer.knot}
    assert names == {*ROWS}
