# SPDX-License-Identifier: GPL-2.0-only
"""This test will check links from stacks alone against the kernel's lists of locks."""

from __future__ import annotations

from collections import Counter

import pytest

from lock_lists import FOLDER, Compared, snapshots

RECORDED = sorted(FOLDER.glob("*/*.log.xz"))
# Of all snapshots, measured (docs/how-causes-are-inferred.md).
RIGHT, FALSE, RIGHT_ROOTS = 0.6, 0.02, 0.95


def test_one_snapshot_of_each_machine() -> None:
    _compare("3")


@pytest.mark.on_demand
def test_all_snapshots() -> None:
    _compare("1", "2", "3", "4", "hung")


def _compare(*snapshots_of: str) -> None:
    """No link that is more than possible is false, and so many of all are right."""
    counts: Counter[str] = Counter()
    roots: Counter[str] = Counter()
    for path in RECORDED:
        for name, text in snapshots(path):
            if name in snapshots_of:
                one = Compared(text)
                assert not one.surely_false, (path.name, name)
                counts += one.counts
                roots += one.roots
    print(dict(counts), dict(roots))
    assert RECORDED
    # Who has no stack in the log cannot be found.
    seen = counts.total() - counts["unseen"]
    assert counts["right"] + counts["queued"] >= RIGHT * seen
    assert counts["false"] <= FALSE * seen
    assert roots["right"] >= RIGHT_ROOTS * roots.total()
