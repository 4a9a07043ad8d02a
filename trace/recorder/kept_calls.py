# SPDX-License-Identifier: GPL-2.0-only
"""kept_calls: count the calls that a recording kept for a replay."""

from __future__ import annotations

import re
from pathlib import Path

from writestall_base.units import many

EVENTS = "events/core.jsonl"
COUNTS = re.compile(
    rb'\{"ev":"calls","t_ns":\d+,"count":(\d+),"lost":(\d+),"left_out":(\d+),'
)


def words(folder: Path) -> str:
    """What was kept and what not, in a run's events."""
    kept = lost = left = 0
    with (folder / EVENTS).open("rb") as file:
        for line in file:
            if found := COUNTS.match(line):
                count, missed, other = map(int, found.groups())
                kept, lost, left = kept + count, lost + missed, left + other
    return (
        f"profile: {many(kept, 'call')} kept, {lost} lost, {left} of kinds that a"
        " replay does not make"
    )
