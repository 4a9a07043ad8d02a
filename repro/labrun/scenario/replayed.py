# SPDX-License-Identifier: GPL-2.0-only
"""replayed: give a scenario a recorded disk in the place of its own."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from labrun.scenario import disk_series
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject
from writestall_base.errors import UserError

# Keys of a scenario that hold for its own disk alone.
OWN = ("expect", "variant")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    what = "delay bios as this series, of `writestall export --to disk`, says"
    add("--from", dest="series", type=Path, metavar="FILE", help=what)
    device = "the disk of it, by number or name (the one that bios took longest on)"
    add("--from-device", dest="series_device", metavar="DEV", help=device)


def rules(options: argparse.Namespace) -> tuple[str, tuple[Inject, ...]] | None:
    """The disk that the command line asks for and its rules. Raises UserError."""
    if options.series is None:
        if options.series_device is not None:
            raise UserError("--from-device needs --from")
        return None
    if options.profile or options.plan:
        raise UserError("--from is a disk of its own: leave out --profile and --plan")
    return disk_series.rules(options.series, options.series_device)


def applied(scenario: Scenario, made: tuple[str, tuple[Inject, ...]]) -> Scenario:
    """Return the scenario on that disk; what it promises holds for its own."""
    return dataclasses.replace(scenario, inject=made[1], expect=None, variant=())


def as_read(
    table: dict[str, Any], made: tuple[str, tuple[Inject, ...]]
) -> dict[str, Any]:
    """Return the scenario's TOML table with the same change; `replayed` is the disk."""
    kept = {key: value for key, value in table.items() if key not in OWN}
    default = Inject()
    inject = [
        {
            key: value
            for key, value in dataclasses.asdict(rule).items()
            if value != getattr(default, key)
        }
        for rule in made[1]
    ]
    return kept | {"inject": inject, "replayed": made[0]}
