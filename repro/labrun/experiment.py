# SPDX-License-Identifier: GPL-2.0-only
"""experiment: a checked scenario, a disk and artefacts to a run directory.

perform() is the whole order of things. Each context manager does one thing on
the way in and undoes it on the way out, so leaving mirrors entering.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from labrun import (
    aging,
    disk,
    filesystem,
    injector,
    kernel,
    loop,
    staging,
    tracer,
    tuning,
    workload,
)
from labrun.artefacts import Artefacts
from labrun.disk import Disk
from labrun.errors import EXIT_COMPLETE, EXIT_FAILED, StepError, StoppedError
from labrun.run import Run, describe
from labrun.scenario import Scenario


@dataclass(frozen=True)
class Settings:
    """Everything that was decided before anything is touched."""

    scenario: Scenario
    scenario_table: dict[str, Any]  # as its file has it
    disk: Disk
    journal: Disk | None
    wipe: bool
    engines: tuple[str, ...]
    artefacts: Artefacts
    duration_s: int
    bare_metal: bool


def plan(settings: Settings) -> list[str]:
    """The names of the steps of a run that goes well, in order."""
    scenario = settings.scenario
    injecting = bool(scenario.inject)
    return [
        *(["wipe"] * (1 + bool(settings.journal)) if settings.wipe else []),
        *(["loop"] if scenario.filesystem.loop else []),
        *(["queue"] if scenario.queue else []),
        *("mkfs", "mount"),
        *(["age"] if scenario.filesystem.aged_percent else []),
        *(["sysctl"] if scenario.sysctl else []),
        *(["inject"] if injecting else []),
        *("kallsyms", "trace", "kernel-log"),
        *(["arm"] if injecting else []),
        "write",
        *(["disarm"] if injecting else []),
        "kernel-log-save",
        *(f"stop-{name}" for name in reversed(settings.engines)),
        *(["truth", "unload"] if injecting else []),
        *(["sysctl-restore"] if scenario.sysctl else []),
        "umount",
        *(["queue-restore"] if scenario.queue else []),
        *(["loop-detach"] if scenario.filesystem.loop else []),
        "collect",
    ]


def perform(run: Run, settings: Settings) -> None:
    """Set up, write, undo. Raises StepError or StoppedError after undoing."""
    scenario, scratch, built = settings.scenario, settings.disk, settings.artefacts
    with ExitStack() as stack:
        enter = stack.enter_context
        enter(staging.staged(run))
        if settings.wipe:
            for each in (scratch, settings.journal):
                if each:
                    disk.wipe(run, each)
        carrier = enter(loop.carrier(run, scenario.filesystem, scratch))
        queue_path = partial(tuning.queue_path, carrier.name)
        enter(tuning.applied(run, "queue", queue_path, scenario.queue))
        filesystem.make(run, scenario.filesystem, carrier, settings.journal)
        folder = enter(filesystem.mounted(run, scenario.filesystem, carrier))
        aging.age(run, scenario.filesystem, folder)
        folder_of = enter(workload.placed(scenario, folder))
        enter(tuning.applied(run, "sysctl", tuning.sysctl_path, scenario.sysctl))
        inject = enter(_injecting(run, settings))
        kernel.save_symbols(run)
        tracers = enter(
            tracer.tracing(run, settings.engines, built.folder, scenario.trace)
        )
        enter(kernel.log_saved(run))
        if inject:
            enter(injector.armed(run, len(scenario.inject)))

        def tick() -> None:
            for running in tracers:
                running.check()
            if inject:
                inject.drain()

        workload.write(
            run, scenario, settings.duration_s, built.folder, folder_of, tick
        )


@contextmanager
def _injecting(run: Run, settings: Settings) -> Iterator[injector.Injector | None]:
    """The injector, or nothing for a scenario without rules."""
    if not settings.scenario.inject:
        yield None
        return
    parameters = injector.parameters(settings.bare_metal)
    journal = settings.journal.name if settings.journal else None
    made = injector.rules(settings.scenario, settings.disk.name, journal)
    built = settings.artefacts.biodelay
    with injector.loaded(run, built, parameters, made) as loaded:
        yield loaded


def describe_machine(run: Run, settings: Settings) -> None:
    """The manifest's facts that are known before the first step."""
    run.manifest |= {
        "scenario": settings.scenario_table,
        "duration_s": settings.duration_s,
        "kernel": os.uname().release,
        "arch": os.uname().machine,
        "device": settings.disk.as_json(),
        "backing_device": None,
        "journal_device": settings.journal.as_json() if settings.journal else None,
        "filesystem": None,
        "queue": None,
        "sysctl": None,
        "injector": None,
        "tracers": [],
        "writer": None,
        "load": [],
        "seed": settings.scenario.seed,
        "window": None,
    }


def carry_out(run: Run, settings: Settings) -> int:
    """perform() to a finished manifest and an exit status."""
    status = EXIT_FAILED
    run.progress.plan(plan(settings))
    describe_machine(run, settings)
    try:
        run.create()
        perform(run, settings)
        status = EXIT_COMPLETE
    except StoppedError as error:
        run.fail(str(error), "cut_off")
        status = 128 + error.signal_number
    except Exception as error:
        run.fail(describe(error))
        if not isinstance(error, (StepError, OSError)):
            import traceback  # a slow machine needs a tenth of a second for it

            traceback.print_exc()
    finally:
        run.finish()
        os.sync()
    return status if run.manifest["status"] != "failed" else EXIT_FAILED
