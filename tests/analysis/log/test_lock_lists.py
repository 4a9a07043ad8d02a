# SPDX-License-Identifier: GPL-2.0-only
"""This test will check links from stacks alone against the kernel's lists of locks."""

from __future__ import annotations

from collections import Counter

import pytest

from lock_lists import FOLDER, Compared, snapshots

RECORDED = sorted(FOLDER.glob("*.log.xz"))
# Of all snapshots, measured (docs/how-causes-are-inferred.md).
RIGHT, FALSE = 0.6, 0.04


def test_none_of_the_likely_links_is_false() -> None:
    """One snapshot of each machine; the others are tried on demand."""
    assert _counted("3")["right"] > 0


@pytest.mark.on_demand
@pytest.mark.parametrize("snapshot", ["1", "2", "4", "hung"])
def test_none_of_the_others_is_false(snapshot: str) -> None:
    _counted(snapshot)


def _counted(snapshot: str) -> Counter[str]:
    """What all machines' snapshots of that name have; their links are as good as those
    measured."""
    counts: Counter[str] = Counter()
    for path in RECORDED:
        for name, text in snapshots(path):
            if name == snapshot:
                one = Compared(text)
                assert not one.surely_false, (path.name, name)
                counts += one.counts
    print(dict(counts))
    assert RECORDED
    assert counts["right"] + counts["queued"] >= RIGHT * counts.total()
    assert counts["false"] <= FALSE * counts.total()
    return counts
