# SPDX-License-Identifier: GPL-2.0-only
"""test_results: what became of the tests, from the files of pytest."""

from __future__ import annotations

from pathlib import Path

from driver import results

FIRST = """<testsuites><testsuite>
<testcase file="tests/vm/test_a.py" name="a" time="0.6"/>
<testcase file="tests/vm/test_a.py" name="b" time="0.6">
 <failure message="no"/></testcase>
<testcase file="tests/guest/test_b.py" name="c" time="3">
 <skipped message="no loop device"/></testcase>
</testsuite></testsuites>"""
SECOND = """<testsuites><testsuite>
<testcase file="tests/guest/test_b.py" name="d" time="4">
 <skipped message="no loop device"/></testcase>
<testcase name="" time="0"><error message="collection failure"/></testcase>
</testsuite></testsuites>"""


def test_a_row_for_each_folder_then_reasons_and_sums(tmp_path: Path) -> None:
    files = [tmp_path / "0.xml", tmp_path / "1.xml", tmp_path / "missing.xml"]
    files[0].write_text(FIRST)
    files[1].write_text(SECOND)
    assert list(results.lines(results.read(files))) == [
        "folder   passed  failure    error  skipped  seconds",
        "guest         0        0        0        2        7",
        "other         0        0        1        0        0",
        "vm            1        1        0        0        1",
        "skipped 2: no loop device",
        "test: 5 tests, 1 failures, 1 errors, 2 skipped",
    ]


def test_nothing_ran(tmp_path: Path) -> None:
    *_, last = results.lines(results.read([tmp_path / "missing.xml"]))
    assert last == "test: 0 tests, 0 failures, 0 errors, 0 skipped"
