# SPDX-License-Identifier: GPL-2.0-only
"""recorded: a recorded disk in the place of a profile, recorded calls in that of a
workload."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from labrun.comparison.of_command import OLDEST_KERNEL
from labrun.scenario import disk_series, replayed
from writestall_base import designs


def profile(series: Path, device: str | None, run: str) -> dict[str, Any]:
    """The profile's table of a disk of a series, of `export --to disk`.

    `run` is the recording; a command that repeats the comparison names it, and the
    device where one was chosen. Raises UserError.
    """
    made = disk_series.rules(series, device)
    slug = re.sub("[^a-z0-9]+", "-", made[0].lower()).strip("-")
    table = {
        "name": f"recorded-{slug}",
        "purpose": f"as slow as {made[0]} was, at the same times",
        "provenance": f"recorded in {run}",
        "inject": replayed.as_read({}, made)["inject"],
        "run": run,
    }
    return table | ({"device": device} if device else {})


def calls(command: str, prepare: str) -> dict[str, Any]:
    """The table of a scenario whose workload is a command that makes recorded calls."""
    work = {"kind": "command", "name": "application", "command": command}
    return {
        "name": designs.RECORDED_CALLS,
        "purpose": "the calls of the recording, made again at their times",
        "kernel": {"min": OLDEST_KERNEL},
        "workload": [work | {"prepare": prepare}],
    }
