# SPDX-License-Identifier: GPL-2.0-only
"""This test will draw cuts of machines, price them, and sum what their disks kept."""

from __future__ import annotations

from driver import cuts
from driver.losses import Asked

OPTIONS = ["ext4-default", "xfs-default", "btrfs", "f2fs"]


def test_cuts_follow_the_seed_and_give_each_option_its_turn() -> None:
    drawn = cuts.draw(OPTIONS, 40, 12, seed=7)
    assert drawn == cuts.draw(OPTIONS, 40, 12, seed=7)
    assert drawn != cuts.draw(OPTIONS, 40, 12, seed=8)
    assert [one.option for one in drawn] == OPTIONS * 10
    assert all(cuts.EARLIEST_S <= one.seconds <= 12 for one in drawn)
    assert len({one.seconds for one in drawn}) > 30
    paths = {one.path for one in drawn}
    assert None in paths and len(paths) > 4
    assert all(path.exists() for path in paths if path)


def test_later_cuts_are_priced_by_the_mean_of_their_moments() -> None:
    assert Asked(1, 45).price == ("--cuts", "1", "45.0")
    assert Asked(20, 9).price == ("--cuts", "20", str(9 + 19 * (1 + 9) / 2))
    assert Asked(20, 0).price == ()


def test_the_table_sums_the_losses_of_an_option() -> None:
    synced = {"written": 100, "synced": 90, "lost_synced": 2, "torn": 1}
    kept = {"option": "btrfs", "synced": synced, "damage": None}
    (row,) = cuts.table([kept, kept | {"damage": "a bad block"}]).splitlines()[2:]
    assert row == "| btrfs | 2 | 200 | 180 | 4 | 2 | 1 |"
