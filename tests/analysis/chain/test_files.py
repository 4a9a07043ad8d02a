# SPDX-License-Identifier: GPL-2.0-only
"""This test will sum up stalled calls by what was called, and of which file."""

from __future__ import annotations

from pathlib import Path

from build import Events
from chains import MS, explained
from writestall.chain.totals import by_file
from writestall.report import text


def test_calls_by_file(tmp_path: Path) -> None:
    """A sync is a call, no write; the most time comes first."""
    ev = Events()
    for at, (call, path, dur_ms) in enumerate(
        (
            ("fdatasync", "ib_logfile0", 300),
            ("write", "binlog", 100),
            ("fdatasync", "ib_logfile0", 200),
        )
    ):
        ev.write(300, 1000 * at, dur_ms, dur_ms, call=call, path=path)
    found = explained(tmp_path, ev.end())
    assert by_file(found.writes) == {
        "2 fdatasync(2) of ib_logfile0": 500 * MS,
        "1 write(2) to binlog": 100 * MS,
    }
    said = list(text.report(found, 1))
    assert said[0].startswith(
        "3 calls stalled, worst 300 ms (2 fdatasync(2), 1 write(2));"
    )
    assert "      500 ms   83.3 %  2 fdatasync(2) of ib_logfile0" in said


def test_files_behind_the_first_are_one_row(tmp_path: Path) -> None:
    ev = Events()
    for at in range(8):
        ev.write(300, 1000 * at, 100 + at, 100 + at, path=f"file-{at}")
    rows = by_file(explained(tmp_path, ev.end()).writes)
    assert next(iter(rows)) == "1 write(2) to file-7"
    assert rows["3 others"] == 303 * MS
