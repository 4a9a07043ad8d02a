# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the documents that are made from measurements with their data,
and the data with the existing scripts, engines and kernels."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from driver import overhead, pages
from driver.commands import kernel_support
from machine import recipe
from support import PROJECT

JUNIT = """<testsuites><testsuite>
<testcase name="test_in_the_guest[scripts on 6.1::each.py]"><properties>
<property name="guest_s" value="90"/>
<property name="support" value='{"script": "a", "engine": "stap", "refuses": ""}'/>
<property name="support" value='{"script": "a", "engine": "x", "refuses": "no"}'/>
</properties></testcase>
<testcase name="test_in_the_guest[scripts on 6.1::b.py]"><failure/></testcase>
<testcase name="test_in_the_guest[scripts on 6.1::c.py]"><skipped/></testcase>
<testcase name="test_in_the_guest[kmod on 6.1::d.sh]"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize("made", [overhead, kernel_support], ids=lambda m: m.DOCUMENT)
def test_a_document_is_what_its_data_say(made: ModuleType) -> None:
    text = (pages.DOCS / f"{made.DOCUMENT}.md").read_text()
    data = pages.load(made.DOCUMENT)
    assert pages.filled(text, made.parts(data)) == text


def test_every_row_of_a_script_is_of_one_there_is() -> None:
    for row in pages.load(kernel_support.DOCUMENT)["rows"]:
        if "script" in row:
            assert row["script"] in kernel_support.scripts()
            assert row["engine"] in kernel_support.ENGINES
            own = kernel_support.own_names(pages.load(kernel_support.DOCUMENT)["rows"])
            assert row["kernel"] in {*recipe.load(full=True).kernels, *own}


def test_a_kernel_of_ones_own_says_what_it_was_built_from() -> None:
    for row in pages.load(kernel_support.DOCUMENT)["rows"]:
        assert "suite" not in row or row["configuration"], row


def test_the_tests_of_a_kernel_of_ones_own_are_counted(tmp_path: Path) -> None:
    junit = tmp_path / "0.xml"
    junit.write_text(
        JUNIT.replace("scripts on 6.1", "scripts on 4.4").replace("d.sh", "d-a.sh")
    )
    (row,) = kernel_support.counted(junit, "2026-01-02", "defconfig")
    assert row == {
        "suite": "tests/scripts",
        "kernel": "4.4",
        "date": "2026-01-02",
        "configuration": "defconfig",
        "passed": 1,
        "failed": ["b.py"],
    }
    assert kernel_support.own_table([row]).splitlines()[2] == (
        "| 4.4 | defconfig | tests/scripts | 1 | b.py | 2026-01-02 |"
    )


def test_every_row_of_a_test_names_one_there_is() -> None:
    for row in pages.load(kernel_support.DOCUMENT)["rows"]:
        if "test" in row:
            name = row["test"].partition(".")
            stem, suffix = name[0], name[2].partition("-")[0]
            assert (PROJECT / "tests/scripts" / f"{stem}.{suffix}").exists(), row


def test_pytests_file_becomes_rows(tmp_path: Path) -> None:
    junit = tmp_path / "0.xml"
    junit.write_text(JUNIT)
    assert list(kernel_support.recorded(junit, "2026-01-02", None)) == [
        {"kernel": "6.1", "test": "each.py", "passed": True, "date": "2026-01-02"},
        {"script": "a", "engine": "stap", "refuses": ""}
        | {"kernel": "6.1", "date": "2026-01-02"},
        {"script": "a", "engine": "x", "refuses": "no"}
        | {"kernel": "6.1", "date": "2026-01-02"},
        {"kernel": "6.1", "test": "b.py", "passed": False, "date": "2026-01-02"},
    ]


def test_a_refusal_is_reported_once_and_failures_are_no_refusals() -> None:
    refusals: list[str] = []
    rows = [{"refuses": ""}, {"refuses": "no"}, {"refuses": "no"}, {"fails": "so"}]
    words = [kernel_support.cell(row, refusals) for row in [*rows, None]]
    assert words == ["works", "refuses (1)", "refuses (1)", "fails", "not tried"]
    assert refusals == ["no"]


def test_a_part_needs_its_place() -> None:
    text = "<!-- a: made by x -->\nold\n<!-- end of a -->\n"
    assert pages.filled(text, {"a": "new\n"}) == text.replace("old", "new")
    with pytest.raises(ValueError, match="0 places for b"):
        pages.filled(text, {"b": ""})
