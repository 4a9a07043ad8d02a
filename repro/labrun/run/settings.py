# SPDX-License-Identifier: GPL-2.0-only
"""settings: check the machine and the disks, and build what is missing."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from labrun.injectors import registry
from labrun.run import artefacts, preflight, tracer
from labrun.run.stages import Settings
from labrun.scenario.keys import Scenario
from labrun.setup import disk
from labrun.setup.disk import Disk, Disks
from writestall_base import TREE
from writestall_base.errors import UserError
from writestall_base.progress import say
from writestall_base.stop import Stop


def built(options: argparse.Namespace) -> Path:
    """Return the folder of the compiled parts, build/KERNEL_RELEASE if none is named;
    it may not exist yet."""
    folder: Path = options.build or TREE / "build" / os.uname().release
    return folder.resolve()


def prepare(
    found: Scenario, table: dict[str, Any], options: argparse.Namespace, stop: Stop
) -> Settings:
    """Return the settings of the run; build what is missing. Raises UserError.

    `table` is the scenario's TOML table. With --dry-run nothing is built.
    """
    parts, engines = built(options), tracer.CHOICES[options.engine]
    injector = registry.chosen(found, options.injector)
    missing = artefacts.missing(parts, found, engines, injector.module)
    makeable = options.build is None and not options.dry_run
    if lines := preflight.problems(
        found, injector, engines, [] if makeable else missing
    ):
        raise UserError(*lines)
    disks = Disks(_checked_disk(options), _journal_disk(found, options))
    if not options.dry_run:
        artefacts.make(missing, stop, say)
    return Settings(
        scenario=found,
        scenario_table=table,
        disks=disks,
        injector=injector(found, disks, parts, options.allow_bare_metal),
        wipe=options.wipe,
        engines=engines,
        artefacts=parts,
        duration_s=options.duration_s or found.duration_s,
    )


def _checked_disk(options: argparse.Namespace) -> Disk:
    if options.disk is None:
        raise UserError("--disk is missing: name a scratch disk; lsblk lists them")
    return disk.inspect(options.disk, options.wipe)


def _journal_disk(found: Scenario, options: argparse.Namespace) -> Disk | None:
    if not found.filesystem.external_journal:
        return None
    if options.journal_disk is None:
        raise UserError(
            f"--journal-disk is missing: {found.name} needs a second scratch disk"
        )
    if options.journal_disk == options.disk:
        raise UserError("--journal-disk: want another disk than --disk")
    return disk.inspect(options.journal_disk, options.wipe)
