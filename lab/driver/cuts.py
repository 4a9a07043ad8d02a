# SPDX-License-Identifier: GPL-2.0-only
"""cuts: draw moments and delays for machines to be cut; count the losses."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import pages
from driver.project import PROJECT

# Scenarios whose rules delay what that file system writes; "" delays nothing.
SCENARIOS = {
    "ext4": ("", "page-lock", "journal-buffer", "fsync-storm"),
    "xfs": ("", "xfs-ilock", "xfs-log-space"),
    "btrfs": ("", "btrfs-commit"),
    "f2fs": ("", "f2fs-checkpoint"),
}
MODES = ("sleep", "defer")
EARLIEST_S = 1.0
HEAD = (
    *("option", "cuts", "written", "fsynced", "lost though fsynced"),
    *("torn beside them", "damaged"),
)
Data = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """One cut: what is written to, how the disk is delayed, and when it is cut."""

    option: str
    scenario: str  # "": nothing is delayed
    mode: str
    seconds: float

    @property
    def path(self) -> Path | None:
        name = f"repro/scenarios/{self.scenario}.toml"
        return PROJECT / name if self.scenario else None


def draw(options: Sequence[str], count: int, latest_s: int, seed: int) -> list[Drawn]:
    """Draw the cuts; each option has its turn."""
    source = random.Random(seed)
    found = []
    for number in range(count):
        option = options[number % len(options)]
        scenario = source.choice(SCENARIOS[option.partition("-")[0]])
        seconds = round(source.uniform(EARLIEST_S, latest_s), 3)
        found.append(Drawn(option, scenario, source.choice(MODES), seconds))
    return found


def _rows(found: Sequence[Data]) -> Iterator[list[str]]:
    for option in dict.fromkeys(str(kept["option"]) for kept in found):
        of_it = [kept for kept in found if kept["option"] == option]
        sums = [
            sum(kept["synced"][name] for kept in of_it)
            for name in ("written", "synced", "lost_synced", "torn")
        ]
        damaged = sum(kept["damage"] is not None for kept in of_it)
        yield [option, *map(str, (len(of_it), *sums, damaged))]


def table(found: Iterable[Data]) -> str:
    """What the options kept, in sums over their cuts, as Markdown."""
    return pages.table(HEAD, _rows(list(found)))
