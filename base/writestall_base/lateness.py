# SPDX-License-Identifier: GPL-2.0-only
"""lateness: say for how long a run's client was late by its own fault."""

from __future__ import annotations

import json
from pathlib import Path

from writestall_base import files
from writestall_base.units import S_NS

# A larger share means that the host disturbed the run; a client counts delays that are
# as long as a stall.
MOST_LATE = 0.005


def late_share(run: Path, duration_s: float) -> float | None:
    """The late share of the time of its threads, 0 to 1; None if writer.jsonl has
    none."""
    try:
        lines = files.content(run / "writer.jsonl").splitlines()
        first, last = json.loads(lines[0]), json.loads(lines[-1])
        threads = first["writers"] if "writers" in first else first["threads"]
        return float(last["late_ns"] / (threads * duration_s * S_NS))
    except (OSError, ValueError, LookupError, TypeError, ZeroDivisionError):
        return None
