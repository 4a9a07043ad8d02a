# SPDX-License-Identifier: GPL-2.0-only
"""stages: run the stages of a scenario in order and undo them in reverse.

perform() has all stages in order. Each context manager does one thing on entry and
undoes it on exit, so they are undone in reverse order.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labrun.injectors.interface import Injector
from labrun.run import tracer, tracing_command
from labrun.scenario.keys import Scenario
from labrun.setup import (
    aging,
    cgroups,
    disk,
    disk_io,
    filesystem,
    kernel,
    loop,
    memory,
    staging,
    throttle_log,
    tuning,
)
from labrun.setup.disk import Disks
from labrun.workloads import clients, commands, running
from writestall_base.errors import EXIT_COMPLETE, EXIT_FAILED, StepError, StoppedError
from writestall_base.steps import Run, describe


@dataclass(frozen=True)
class Settings:
    """Everything that is known before the first step."""

    scenario: Scenario
    scenario_table: dict[str, Any]  # as in its file
    disks: Disks
    injector: Injector
    wipe: bool
    engines: tuple[str, ...]
    artefacts: Path  # the folder of the compiled parts
    duration_s: int


def perform(run: Run, settings: Settings) -> None:
    """Set up, run the writers, undo. Raises StepError or StoppedError after undoing."""
    scenario, built, inject = settings.scenario, settings.artefacts, settings.injector
    with ExitStack() as stack:
        enter = stack.enter_context
        enter(staging.staged(run))
        if settings.wipe:
            for each in (settings.disks.scratch, settings.disks.journal):
                if each:
                    disk.wipe(run, each)
        disks = enter(inject.stacked(run))
        carrier = enter(loop.carrier(run, scenario.filesystem, disks.scratch))
        queue_path = partial(tuning.queue_path, carrier.name)
        enter(tuning.applied(run, "queue", queue_path, scenario.queue))
        enter(memory.swapping(run, scenario.memory, carrier))
        filesystem.make(run, scenario.filesystem, carrier, disks.journal)
        count_io = enter(disk_io.counted(run, settings.disks))
        folder = enter(filesystem.mounted(run, scenario.filesystem, carrier))
        aging.age(run, scenario.filesystem, folder)
        count_io()
        folder_of = enter(clients.placed(scenario, folder))
        enter(tuning.applied(run, "sysctl", tuning.sysctl_path, scenario.sysctl))
        group = enter(memory.limited(run, scenario.memory))
        group_of = enter(cgroups.grouped(run, scenario.cgroup, carrier))
        place = clients.Place(
            built,
            folder_of,
            lambda work: group_of(work.cgroup) or group,
            settings.duration_s,
        )
        commands.prepare(run, scenario, place)
        servers = enter(commands.serving(run, scenario, place))
        enter(inject.loaded(run))
        kernel.save_symbols(run)
        tracers = enter(
            tracer.tracing(
                run,
                settings.engines,
                partial(tracing_command.argv, built, scenario),
            )
        )
        enter(kernel.log_saved(run))
        enter(throttle_log.recorded(run, scenario.cgroup, carrier))
        enter(inject.armed(run))

        def tick() -> None:
            for each in tracers:
                each.check()
            inject.drain()

        running.write(run, scenario, place, servers, tick)


def describe_machine(run: Run, settings: Settings) -> None:
    """Note in the manifest what is known before the first step."""
    journal = settings.disks.journal
    run.manifest |= {
        "scenario": settings.scenario_table,
        "duration_s": settings.duration_s,
        "kernel": os.uname().release,
        "arch": os.uname().machine,
        "device": settings.disks.scratch.as_json(),
        "backing_device": None,
        "journal_device": journal.as_json() if journal else None,
        **dict.fromkeys(
            ("filesystem", "queue", "sysctl", "memory", "cgroups", "injector")
        ),
        "disk_io": None,
        "tracers": [],
        "writer": None,
        "load": [],
        "seed": settings.scenario.seed,
        "window": None,
    }


def carry_out(run: Run, settings: Settings) -> int:
    """Run perform() and finish the manifest; return the exit status."""
    status = EXIT_FAILED
    describe_machine(run, settings)
    try:
        run.create()
        perform(run, settings)
        status = EXIT_COMPLETE
    except StoppedError as error:
        run.fail(str(error), "cut_off")
        status = error.status
    except Exception as error:
        run.fail(describe(error))
        if not isinstance(error, (StepError, OSError)):
            import traceback  # a slow machine needs a tenth of a second for it

            traceback.print_exc()
    finally:
        run.finish()
        os.sync()
    return status if run.manifest["status"] != "failed" else EXIT_FAILED
