# SPDX-License-Identifier: GPL-2.0-only
"""test_open_calls: a call that has not ended is reported with what holds it up."""

from __future__ import annotations

from writestall.watch.open_stalls import Sleeping, texts, with_group
from writestall.watch.ring import S

WRITER = Sleeping(
    202,
    "latwriter",
    10 * S,
    "write",
    "lab/gc.log",
    stack=(
        "[<0>] do_get_write_access+0x2a/0x4c0 [jbd2]",
        "[<0>] jbd2_journal_get_write_access+0x20/0x40 [jbd2]",
        "[<0>] ext4_reserve_inode_write+0x2a/0x4c0 [ext4]",
        "[<0>] ext4_dirty_inode+0x2a/0x4c0 [ext4]",
        "[<0>] vfs_write+0x2a/0x4c0",
    ),
)
JOURNAL = Sleeping(
    192,
    "jbd2/vdb-8",
    0,
    stack=(
        "[<0>] submit_bio_noacct+0x2a/0x4c0",
        "[<0>] jbd2_journal_commit_transaction+0x33/0x44 [jbd2]",
        "[<0>] kjournald2+0x33/0x44 [jbd2]",
    ),
)


def _only(*tasks: Sleeping) -> str:
    (text,) = texts(tasks, [202], 14 * S)
    return text


def test_the_holder_is_a_guess_by_the_stacks_of_all_that_sleep() -> None:
    assert _only(WRITER, JOURNAL) == (
        "latwriter/202 write(2) lab/gc.log has not ended for 4 s: it waits for"
        " journal_buffer in do_get_write_access, likely held by jbd2/vdb-8/192,"
        " which waits for device_io"
    )


def test_an_unknown_holder_is_said_to_be_unknown() -> None:
    assert _only(WRITER).endswith(
        "it waits for journal_buffer in do_get_write_access, who holds that is not"
        " known"
    )


def test_without_a_stack_the_function_is_reported() -> None:
    bare = Sleeping(202, "app", 10 * S, "fsync", wchan="folio_wait_bit_common")
    assert "fsync(2) ? has not ended for 4 s: it waits for " in _only(bare)
    nothing = Sleeping(202, "app", 10 * S, "page_fault")
    assert _only(nothing).endswith("in an unknown function; its stack is unknown")
    assert "page_fault ?" in _only(nothing)


def test_hostile_names_make_no_lines_of_their_own() -> None:
    bad = "x\nINFO: task y:"
    text = _only(Sleeping(202, bad, 10 * S, "write", f"lab/{bad}", stack=WRITER.stack))
    assert text.isprintable()
    assert "journal_buffer" in text


def test_the_cgroup_is_named_unless_it_is_the_root() -> None:
    assert with_group("x", "/", str) == with_group("x", "", str) == "x"
    assert with_group("x", "/a", str) == "x (in /a)"
