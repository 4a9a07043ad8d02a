#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will set vm.dirty_bytes and vm.dirty_ratio, of which the kernel clears one
when the other is set, as a run does, and check that the original values are restored.
"""

import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from labrun.setup import tuning
from writestall_base.progress import Progress
from writestall_base.steps import Run
from writestall_base.stop import Stop

BEFORE = {"vm.dirty_bytes": 300 << 20, "vm.dirty_ratio": 17}
SET = (
    {"vm.dirty_bytes": 50 << 20},
    {"vm.dirty_ratio": 30},
    {"vm.dirty_bytes": 50 << 20, "vm.dirty_ratio": 30},
    {"vm.dirty_ratio": 30, "vm.dirty_bytes": 50 << 20},
)


def both() -> dict[str, int]:
    """The current values of both."""
    return {name: int(tuning.sysctl_path(name).read_text()) for name in BEFORE}


def tried(run: Run, in_force: str, settings: dict[str, int]) -> Iterator[str]:
    """Failures, as lines, with `in_force` set before a run that has `settings`."""
    tuning.sysctl_path(in_force).write_text(f"{BEFORE[in_force]}\n")
    before = both()
    with tuning.applied(run, "sysctl", tuning.sysctl_path, settings):
        meanwhile = both()
    last = list(settings)[-1]
    case = f"{in_force} in force, {settings} set"
    if meanwhile[last] != settings[last]:
        yield f"{case}: then {meanwhile}"
    if both() != before:
        yield f"{case}: left {both()}, not {before}"


def main() -> bool:
    run = Run(Path(tempfile.mkdtemp(prefix="test-")), Progress("none"), Stop())
    place, value = tuning.in_force(tuning.sysctl_path("vm.dirty_ratio"))
    found = [line for pair in product(BEFORE, SET) for line in tried(run, *pair)]
    place.write_text(value)
    for line in found:
        print(f"FAILED: {line}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
