# SPDX-License-Identifier: GPL-2.0-only
"""This test will record results of kernels of one's own, and hold make test-kernel to
those of the run that it starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from driver import pages
from driver.commands import kernel_support, setup, test
from machine import recipe
from support import PROJECT, kernel_name
from writestall_base.errors import UserError

LISTED = "6.12"
OWN = "6.12.99-mine+"
JUNIT = """<testsuites><testsuite>
<testcase name="test_in_the_guest[scripts on {kernel}::each.py]"><properties>
<property name="support"
 value='{{"script": "page_locks", "engine": "stap", "refuses": "{refuses}"}}'/>
</properties></testcase>
<testcase
 name="test_in_the_guest[scripts/one.py on each kernel::one.py-stap on {kernel}]">
<failure/></testcase>
<testcase name="test_in_the_guest[scripts (2) on {kernel}::two.py]"/>
<testcase name="test_its_chain_appears[page-lock::{kernel}]"/>
</testsuite></testsuites>"""
# A stand-in for ./writestall: it tells its words, and test leaves a file of results.
STAND_IN = """#!/bin/sh
echo "$@"
[ "$1" = test ] || exit 0
[ -z "$STARTS" ] || { mkdir -p out/test-kernel && touch out/test-kernel/0.xml; }
exit 7
"""
Row = dict[str, Any]


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A document like that of the rows, with none."""
    text = (pages.DOCS / f"{kernel_support.DOCUMENT}.md").read_text()
    (tmp_path / f"{kernel_support.DOCUMENT}.md").write_text(text)
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    return tmp_path / f"{kernel_support.DOCUMENT}.json"


def _rows(document: Path, kernel: str, how: str | None, refuses: str = "") -> list[Row]:
    """The rows after a run on a kernel."""
    folder = document.with_name("junit")
    folder.mkdir(exist_ok=True)
    (folder / "0.xml").write_text(JUNIT.format(kernel=kernel, refuses=refuses))
    assert kernel_support.main(Namespace(folder=folder, configuration=how)) == 0
    rows: list[Row] = json.loads(document.read_text())["rows"]
    return rows


def test_a_kernel_of_ones_own_is_named_by_its_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Namespace(own=Namespace(release=OWN))
    monkeypatch.setattr(recipe, "load", lambda kernel: own)
    assert kernel_name("/some/tree") == OWN


def test_a_kernel_of_a_listed_series_replaces_no_row_of_the_listed_one(
    document: Path,
) -> None:
    before = _rows(document, LISTED, None)
    after = _rows(document, OWN, "defconfig", "no")
    assert all(row in after for row in before)
    assert {row["kernel"] for row in after if row not in before} == {OWN}
    assert kernel_support.own_names(after) == [OWN]


def test_a_test_on_any_machine_has_the_kernel_that_it_ran_on(document: Path) -> None:
    rows = _rows(document, OWN, "defconfig")
    (row,) = [row for row in rows if row.get("suite") == "tests/scripts"]
    assert (row["kernel"], row["failed"], row["passed"]) == (OWN, ["one.py-stap"], 2)
    assert {row["test"]: row["passed"] for row in rows if "test" in row} == {
        "each.py": True,
        "one.py-stap": False,
        "two.py": True,
    }


def test_each_configuration_of_a_kernel_has_rows_of_its_own(document: Path) -> None:
    one = _rows(document, OWN, "defconfig", "no")
    both = _rows(document, OWN, "allnoconfig")
    assert len(both) == 2 * len(one)
    assert _rows(document, OWN, "allnoconfig") == both
    head, lines, refusals = kernel_support.matrix(both)
    assert head[2:4] == [f"{OWN} (allnoconfig)", f"{OWN} (defconfig)"]
    (cells,) = [line[2:4] for line in lines if line[:2] == ["page_locks", "stap"]]
    assert (cells, refusals) == (["works", "refuses (1)"], ["no"])
    assert kernel_support.tests(both)[1][0][1:3] == ["passed", "passed"]


def test_kernels_are_in_the_order_of_their_numbers() -> None:
    names = ["7.3.0-rc7", "6.1.0-56-amd64", "4.19.108", "4.4.155"]
    rows = [{"suite": "x", "kernel": name} for name in names]
    assert kernel_support.own_names(rows) == [*reversed(names)]


def test_a_variable_that_was_not_set_is_no_kernel_to_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(setup, "packages", lambda groups: None)
    monkeypatch.setattr(setup, "python", lambda wanted: Path("false"))
    asked = Namespace(every_kernel=False, on_demand=False, kernel="", quick=True)
    with pytest.raises(UserError, match="unknown kernel ''"):
        test.main(asked)


@pytest.fixture
def make(tmp_path: Path) -> Path:
    """A folder to call make test-kernel in, with results of an earlier run."""
    shutil.copy(PROJECT / "Makefile", tmp_path)
    (tmp_path / "writestall").write_text(STAND_IN)
    (tmp_path / "writestall").chmod(0o755)
    (tmp_path / "out/test-kernel").mkdir(parents=True)
    (tmp_path / "out/test-kernel/1.xml").touch()
    return tmp_path


def _made(folder: Path, *words: str, starts: str = "") -> tuple[int, str, str]:
    command = ["make", "test-kernel", *words]
    environment = {"PATH": os.environ["PATH"], "STARTS": starts}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", [(), ("KERNEL=",)])
def test_no_kernel_is_refused_in_one_line(make: Path, words: tuple[str, ...]) -> None:
    status, out, error = _made(make, *words)
    assert (bool(status), out, error.count("\n")) == (True, "", 1)
    assert "KERNEL: make test-kernel needs it, the tree that" in error


def test_what_did_not_start_leaves_the_rows_alone(make: Path) -> None:
    status, out, _ = _made(make, "KERNEL=/tree")
    assert status
    assert [line.split()[0] for line in out.splitlines()] == ["test"]


def test_what_runs_is_named_while_it_runs(make: Path) -> None:
    _, out, _ = _made(make, "KERNEL=/tree")
    assert " -- --verbose tests/guest " in out


def test_the_results_of_an_earlier_run_are_not_recorded_again(make: Path) -> None:
    status, out, _ = _made(make, "KERNEL=/tree", "CONFIGURATION=as it is", starts="yes")
    assert status, "the tests' own status is lost"
    assert out.splitlines()[1] == (
        "dev kernel-support --configuration as it is out/test-kernel"
    )
    left = [path.name for path in (make / "out/test-kernel").iterdir()]
    assert left == ["0.xml"]
