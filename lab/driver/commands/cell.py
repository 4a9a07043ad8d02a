# SPDX-License-Identifier: GPL-2.0-only
"""cell: run one cell of a planned comparison, as a job of repro/Snakefile."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from driver import artefacts, settings
from driver.planned import Planned
from driver.progress import watched
from writestall_base.errors import UserError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("folder", metavar="DIR", type=Path, help="the comparison's folder")
    add("cell", metavar="OPTION[-at-LOAD]/ROUND", help="as the plan names it")
    settings.add_engine(parser, ("stap", "core"))
    settings.arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Run the cell, unless it is complete; return 1 when it still is not."""
    folder = args.folder.resolve()
    option, _, number = args.cell.rpartition("/")
    scenario = folder / "scenarios" / number / f"{option}.toml"
    if not scenario.exists():
        raise UserError(f"{args.cell}: no cell of that plan, {scenario} is missing")
    shared = settings.read(args)
    engine = settings.engine(args.engine, shared.kernel)
    planned = Planned(folder, shared, engine).booting(args.cell)
    if args.cell not in planned.left():
        return 0
    parts = str(artefacts.build(planned.settings.kernel))
    planned = replace(planned, settings=planned.settings.measuring())
    command = planned.machine(args.cell.replace("/", "-"), [args.cell], parts)
    return watched([command], sys.stdout.buffer) or args.cell in planned.left()
