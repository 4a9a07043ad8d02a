# SPDX-License-Identifier: GPL-2.0-only
"""This test will say what a wait comes down to where several tasks fit and nobody knows
which it is, if all of them come down to the same."""

from __future__ import annotations

from log_stacks import Shown, explained
from writestall.log.headline import sentence
from writestall.log.links import LogAnswer
from writestall.log.text import log_json, report

COMMITS = "io_schedule bit_wait_io __wait_on_buffer jbd2_journal_commit_transaction"
WAITS = "schedule rwsem_down_write_slowpath down_write filename_create do_mkdirat"
BUFFER = "io_schedule bit_wait_io do_get_write_access/jbd2 "
MAKES = BUFFER + "ext4_mkdir/ext4 vfs_mkdir do_mkdirat"
REMOVES = BUFFER + "ext4_unlink/ext4 vfs_unlink do_unlinkat"
READS = "io_schedule folio_wait_bit_common ext4_lookup/ext4 __lookup_slow"


def _answer(*more: Shown) -> LogAnswer:
    rows = (
        Shown("jbd2/vda-8", 1, COMMITS),
        Shown("mkdir", 2, MAKES),
        Shown("rm", 3, REMOVES),
        Shown("waits", 9, WAITS),
        *more,
    )
    return explained(*(row.report() for row in rows))


def _row(answer: LogAnswer, comm: str) -> int:
    return next(i for i, row in enumerate(answer.tasks) if row.task.comm == comm)


def test_all_that_may_have_a_lock_wait_for_one_commit() -> None:
    answer = _answer(Shown("rmdir", 4, REMOVES.replace("unlink", "rmdir")))
    waits, commits = _row(answer, "waits"), _row(answer, "jbd2/vda-8")
    assert waits not in answer.links
    assert answer.whichever == {waits: commits}
    assert "5 of them may come down to jbd2/vda-8/1" in sentence(answer, "LOG")
    lines = list(report(answer, "LOG"))
    at = next(at for at, line in enumerate(lines) if line.startswith("+- one of 3: "))
    assert "mkdir/2, rm/3, rmdir/4  (it is inside an operation on a" in lines[at]
    assert lines[at + 1].startswith("   +- which all come down to jbd2/vda-8/1 ")
    row = log_json(answer)["tasks"][waits]
    assert row["comes_down_to"] == commits and len(row["one_of"]) == 3
    assert row["waits_for"] is None and row["either"] == []


def test_nothing_is_said_where_one_of_them_waits_for_something_else() -> None:
    answer = _answer(Shown("ls", 4, READS))
    assert answer.whichever == {}


def test_a_wait_for_one_of_several_may_lie_behind_another() -> None:
    """A task that has a directory waits for the lock of one of two files."""
    second = "schedule rwsem_down_write_slowpath down_write vfs_unlink do_unlinkat"
    writes = BUFFER + "ext4_dirty_inode/ext4 ext4_buffered_write_iter/ext4 vfs_write"
    answer = _answer(
        Shown("deletes", 4, second),
        *(Shown(f"writes-{pid}", pid, writes) for pid in (5, 6)),
    )
    commits = _row(answer, "jbd2/vda-8")
    assert answer.whichever == {
        _row(answer, "deletes"): commits,
        _row(answer, "waits"): commits,
    }


def test_two_that_wait_for_each_other_make_no_root() -> None:
    """Each of two may have what the other waits for; there is no end to either."""
    faults = "schedule fuse_wait_on_page_writeback fuse_page_mkwrite do_page_mkwrite"
    locks = "io_schedule __lock_page write_cache_pages fuse_writepages do_writepages "
    rows = (
        *(Shown(f"map-{pid}", pid, faults + f" f{pid}") for pid in (1, 2)),
        *(Shown(f"syncs-{pid}", pid, locks + f"f{pid}") for pid in (3, 4)),
    )
    assert explained(*(row.report() for row in rows)).whichever == {}


def test_more_than_are_kept_are_not_all() -> None:
    """Of hundreds that fit, each with its own stack, one may be left out."""
    many = [
        Shown(f"mkdir-{pid}", pid, MAKES + f" caller_{pid}") for pid in range(100, 160)
    ]
    assert _row(_answer(), "waits") in _answer().whichever
    assert _answer(*many).whichever == {}
