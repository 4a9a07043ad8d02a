# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the operation that a device was slow for."""

from __future__ import annotations

from pathlib import Path

import pytest

from build import Events
from chains import IRQ, MS, explained
from writestall.chain.answers import Answer
from writestall.report import text

Io = tuple[float, str]


def syncs(tmp_path: Path, *ios: Io, recorded: bool = True) -> Answer:
    """Each fsync(2) is one wait for an I/O of its own: how long, and what it did."""
    ev = Events()
    for at, (dur_ms, op) in enumerate(ios):
        at_ms = 1000.0 * at
        if recorded:
            op, *flags = op.split("+")
            ev.io(300, at_ms - 1, dur_ms + 0.9, "latwriter", op=op, flags=flags)
        slept = (300, at_ms, dur_ms, "own_writeback")
        ev.block(*slept, IRQ, "completion", ctx="softirq")
        ev.write(300, at_ms, dur_ms, dur_ms, call="fsync", stack="own_writeback")
    return explained(tmp_path, ev.end())


def test_only_flushes_were_slow(tmp_path: Path) -> None:
    """The word is in the sentence, at the chain, in the table and in summary.json."""
    found = syncs(tmp_path, (300, "flush"), (300, "flush"), (20, "write"))
    said = list(text.report(found, 1))
    assert said[0].endswith("waiting for vdb by the call itself (flushes).")
    assert any(
        "root: vdb slow for the writer (100.0 %, flushes)" in row for row in said
    )
    assert any(row.endswith("vdb slow for the writer (flushes)") for row in said)
    by_root = found.summary()["io_ns_by_root"]
    assert by_root == {"vdb slow for the writer": {"flush": 600 * MS, "write": 20 * MS}}


@pytest.mark.parametrize(
    ("ios", "recorded", "words"),
    [
        (((300, "read"),), True, " (reads)"),
        (((300, "write"), (200, "flush")), True, " (60.0 % writes, 40.0 % flushes)"),
        (((300, "write"),), False, ""),
        (((300, "write+preflush+fua+meta"),), True, " (FUA writes)"),
        (((300, "write+meta"),), True, " (metadata writes)"),
        (((300, "read+meta"),), True, " (metadata reads)"),
        (((300, "flush+preflush"),), True, " (flushes)"),
    ],
)
def test_operations_by_what_events_show(
    tmp_path: Path, ios: tuple[Io, ...], recorded: bool, words: str
) -> None:
    found = syncs(tmp_path, *ios, recorded=recorded)
    root = next(iter(found.all_roots))
    assert found.in_words(root) == f"vdb slow for the writer{words}"


@pytest.mark.parametrize("submitter", [300, 301])
def test_what_a_task_writes_of_the_xfs_log_is_the_log_s(
    submitter: int, tmp_path: Path
) -> None:
    """Who syncs a file writes out the log, for himself or for another."""
    ev = Events()
    flags = ["preflush", "fua", "meta"]
    ev.io(submitter, 1, 298, "latwriter", op="write", flags=flags)
    worker = (66, "kworker/0:1H")
    ev.block(300, 0, 300, "xfs_log_wait", worker, "xfs_log_ends")
    ev.write(300, 0, 300, 300, call="fsync", stack="xfs_log_wait")
    found = explained(tmp_path, ev.end())
    (root,) = found.all_roots
    assert found.in_words(root) == "vdb slow for the XFS log (FUA writes)"
