# SPDX-License-Identifier: GPL-2.0-only
"""test_what_runs_when: `make check` leaves out what it says, `make test` nothing."""

from __future__ import annotations

from argparse import Namespace

import pytest

from driver.commands import test
from support import PROJECT


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
