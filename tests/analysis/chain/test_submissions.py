# SPDX-License-Identifier: GPL-2.0-only
"""This test will check whose I/O a device's time is: by io events, else by stacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from build import Events
from chains import IRQ, MS, explained, one_chain
from writestall.chain.parts import Chain

FLUSHER = (77, "kworker/u8:3")
WORKER = (46, "kworker/1:1")


def submitters(chain: Chain) -> list[tuple[str, int, int]]:
    """Each root of a chain: class, tid of the submitter, length in ms."""
    return [
        (leaf.cls, leaf.submitter.tid, leaf.dur_ns // MS) for leaf in chain.leaves()
    ]


def fsync(tmp_path: Path, *ios: tuple[int, float, float, str, str]) -> str:
    """The main root of an fsync(2) of 300 ms that waits for pages."""
    ev = Events()
    for io in ios:
        ev.io(*io)
    ev.block(300, 0, 300, "own_writeback", IRQ, "completion", ctx="softirq")
    ev.write(300, 0, 300, 300, call="fsync", stack="own_writeback")
    found = explained(tmp_path, ev.end())
    return str(next(iter(found.all_roots)))


def test_a_sync_waits_for_its_own_pages(tmp_path: Path) -> None:
    """mm/filemap.c, file_write_and_wait_range() submits what it then waits for."""
    own = (300, -1.0, 300.9, "latwriter", "none")
    assert fsync(tmp_path / "recorded", own) == "vdb slow for the writer"
    assert fsync(tmp_path / "by its stack") == "vdb slow for the writer"


def test_a_sync_may_wait_for_the_flushers_pages(tmp_path: Path) -> None:
    """They were under writeback already: the event counts more than the stack."""
    others = (*FLUSHER[:1], -200.0, 499.9, FLUSHER[1], "flusher_submits")
    assert fsync(tmp_path, others) == "vdb slow for writeback"


@pytest.mark.parametrize(
    ("ended_ms", "who"), [(299.9, "writeback"), (290, "the writer")]
)
def test_only_an_io_done_just_before_the_wakeup_ended_the_wait(
    tmp_path: Path, ended_ms: float, who: str
) -> None:
    """One that was done 10 ms before woke somebody else."""
    io = (77, -200.0, 200 + ended_ms, FLUSHER[1], "flusher_submits")
    assert fsync(tmp_path, io) == f"vdb slow for {who}"


def test_the_nearest_of_two_ios_ended_the_wait(tmp_path: Path) -> None:
    """Bios that end in one interrupt wake who waits for them in turn."""
    first = (77, -200.0, 499.8, FLUSHER[1], "flusher_submits")
    second = (300, -1.0, 300.9, "latwriter", "none")
    assert fsync(tmp_path, first, second) == "vdb slow for the writer"


def test_an_io_submitted_late_was_its_submitters_before(tmp_path: Path) -> None:
    """The flusher waited for jbd2 until it sent the folio's bio."""
    ev = Events()
    ev.block(
        77, -10, 110, "flusher", (253, "jbd2/vdb-8"), "jbd2_wakes", comm=FLUSHER[1]
    )
    ev.block(253, -20, 119, "jbd2_submit", IRQ, ctx="softirq", comm="jbd2/vdb-8")
    ev.io(77, 101, 198.9, FLUSHER[1], "flusher_submits")
    ev.block(300, 0, 300, "page_writeback", IRQ, "completion", ctx="softirq")
    ev.write(300, 0, 300, 300)
    chain = one_chain(tmp_path, ev.end())
    (wait,) = chain.parts
    assert wait.holder is not None and wait.holder.tid == 77
    assert ("device_io", 253, 99) in submitters(chain)
    assert ("device_io", 77, 199) in submitters(chain)


def test_a_workers_end_of_an_io_names_who_submitted_it(tmp_path: Path) -> None:
    """XFS ends a folio's writeback in a work (fs/xfs/xfs_aops.c, xfs_end_bio())."""
    ev = Events()
    ev.io(300, -1, 300.5, "latwriter")
    ev.block(300, 0, 300, "own_writeback", WORKER, "xfs_writeback_ends")
    ev.write(300, 0, 300, 300, call="fsync", stack="own_writeback")
    chain = one_chain(tmp_path, ev.end())
    assert submitters(chain) == [("device_io", 300, 300)]


def test_a_worker_may_serve_others_before_the_waiters_io(tmp_path: Path) -> None:
    """Its own I/O counts through their work, and though another ended after it."""
    ev = Events()
    ev.io(300, -1, 200, "latwriter")
    ev.io(301, -1, 200.5, "latwriter")
    worker = WORKER[1]
    ev.block(46, 100, 2, "mystery", IRQ, ctx="softirq", comm=worker)
    ev.block(46, 200, 99, "jbd2_submit", IRQ, ctx="softirq", comm=worker)
    ev.block(300, 0, 300, "own_writeback", WORKER, "xfs_writeback_ends")
    ev.write(300, 0, 300, 300, call="fsync", stack="own_writeback")
    found = submitters(one_chain(tmp_path, ev.end()))
    assert [row for row in found if row[1] != 46] == [
        ("device_io", 300, 100),
        ("device_io", 300, 98),
    ]
    assert 301 not in [tid for _, tid, _ in found]


def test_workers_of_a_log_are_one_root(tmp_path: Path) -> None:
    """A worker's number tells nothing: the log is the root, once."""
    ev = Events()
    for at, tid in ((0, 46), (1000, 47)):
        ev.io(tid, at - 1, 300.9, f"kworker/{tid}:0H", "log_submits")
        ev.block(300, at, 300, "page_writeback", IRQ, "completion", ctx="softirq")
        ev.write(300, at, 300, 300)
    roots = explained(tmp_path, ev.end()).all_roots
    assert {str(root): ns for root, ns in roots.items()} == {
        "vdb slow for the XFS log": 600 * MS
    }


def test_a_stacked_disks_io_is_its_workers_on_the_disk_below(tmp_path: Path) -> None:
    """drivers/block/loop.c, loop_process_work(): its bio ends within the other."""
    ev = Events()
    ev.io(300, -1, 300.8, "latwriter")
    ev.io(31, 0, 299.7, "kworker/u8:1", "loop_submits")
    ev.block(300, 0, 300, "own_writeback", IRQ, "completion", ctx="softirq")
    ev.write(300, 0, 300, 300, call="fsync", stack="own_writeback")
    found = explained(tmp_path, ev.end())
    assert str(next(iter(found.all_roots))) == "vdb slow for the loop worker"
