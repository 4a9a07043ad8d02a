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


def syncs(tmp_path: Path, *ios: Io, told: bool = True) -> Answer:
    """Each fsync(2) is one wait for an I/O of its own: how long, and what it did."""
    ev = Events()
    for at, (dur_ms, op) in enumerate(ios):
        at_ms = 1000.0 * at
        if told:
            ev.io(300, at_ms - 1, dur_ms + 0.9, "latwriter", op=op)
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
    ("ios", "told", "words"),
    [
        (((300, "read"),), True, " (reads)"),
        (((300, "write"), (200, "flush")), True, " (60.0 % writes, 40.0 % flushes)"),
        (((300, "write"),), False, ""),
    ],
)
def test_operations_by_what_events_tell(
    tmp_path: Path, ios: tuple[Io, ...], told: bool, words: str
) -> None:
    found = syncs(tmp_path, *ios, told=told)
    root = next(iter(found.all_roots))
    assert found.in_words(root) == f"vdb slow for the writer{words}"
