# SPDX-License-Identifier: GPL-2.0-only
"""host_load: what else the host did while a machine ran.

A busy host, or one whose own CPUs are taken from it, disturbs what a machine measures.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# Columns of the first line of /proc/stat (proc_stat(5)); guest time is in user's.
STEAL, COUNTED = 7, 8


@dataclass(frozen=True)
class Reading:
    """The load average of the last minute, and ticks of all CPUs: stolen, and all."""

    load: float
    steal: int
    ticks: int

    @classmethod
    def now(cls, proc: Path = PROC) -> Reading:
        load = float((proc / "loadavg").read_text().split()[0])
        first = (proc / "stat").read_text().splitlines()[0].split()[1:]
        ticks = [int(word) for word in first[:COUNTED]]
        return cls(load, ticks[STEAL], sum(ticks))


def between(before: Reading, after: Reading) -> dict[str, float | int | str]:
    """What a machine's verdict says of its host."""
    ticks = after.ticks - before.ticks
    steal = (after.steal - before.steal) / ticks if ticks > 0 else 0.0
    return {
        "node": platform.node(),
        "cpus": os.cpu_count() or 0,
        "load_before": before.load,
        "load_after": after.load,
        "steal_share": round(steal, 4),
    }
