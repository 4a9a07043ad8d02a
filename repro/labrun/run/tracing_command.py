# SPDX-License-Identifier: GPL-2.0-only
"""tracing_command: the command that traces a scenario."""

from __future__ import annotations

import os
from pathlib import Path

from labrun.run import tracer
from labrun.scenario.keys import Scenario
from labrun.workloads import commands


def argv(
    build: Path, scenario: Scenario, engine: tracer.Engine, output: Path
) -> list[str]:
    """Return the command that traces to a file until SIGINT.

    What serves requests waits in user space, too: the interruptible sleeps of commands,
    which this process starts, are listed. All bios of a disk that was recorded are
    counted: how they queue is compared with the recording.
    """
    limits = scenario.trace
    waits = ("--waits", str(os.getpid())) if commands.chosen(scenario) else ()
    return [
        str(tracer.LAUNCHER),
        "--engine",
        engine.name,
        tracer.SCRIPT,
        *(engine.option, str(build / engine.part)),
        *("--floor-us", str(limits.floor_us), "--stall-us", str(limits.stall_us)),
        *waits,
        *(engine.counting if any(rule.series for rule in scenario.inject) else ()),
        *("--output", str(output)),
    ]
