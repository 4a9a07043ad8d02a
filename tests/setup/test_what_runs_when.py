# SPDX-License-Identifier: GPL-2.0-only
"""test_what_runs_when: each command leaves out what it says, and nothing else."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

import pytest

import test_guest_scripts
from driver.commands import test
from support import PROJECT

MARK = re.compile(r"pytest\.mark\.on_demand\(")
SECTION = "## What `make test` leaves to `make test-all`\n"


def ignored(*, quick: bool) -> set[str]:
    """What the tests without a VM leave out."""
    asked = Namespace(quick=quick, tail=[], every_kernel=False, side_by_side=False)
    first, *_ = test._phases(asked)
    return {word.removeprefix("--ignore=tests/") for word in first if "=" in word}


@pytest.mark.parametrize("name", test.SLOW)
def test_what_is_slow_is_there(name: str) -> None:
    assert (PROJECT / "tests" / name).exists()


def test_only_what_is_slow_is_left_to_make_test() -> None:
    assert ignored(quick=True) - ignored(quick=False) == set(test.SLOW)
    assert ignored(quick=False) == set(test.LATER)


def on_demand() -> set[str]:
    """Guest scripts and modules of which something runs on demand alone."""
    suffixed = (re.match(r".*\.(py|sh)", name) for name in test_guest_scripts.ON_DEMAND)
    modules = set((PROJECT / "tests").rglob("test_*.py"))
    modules.remove(Path(test_guest_scripts.__file__))
    return {found[0] for found in suffixed if found} | {
        path.name for path in modules if MARK.search(path.read_text())
    }


def test_the_table_names_what_make_test_leaves() -> None:
    text = (PROJECT / "docs/reliability.md").read_text()
    table = text.partition(SECTION)[2].partition("\n## ")[0]
    assert sorted(name for name in on_demand() if name not in table) == []
