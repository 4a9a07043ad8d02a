# SPDX-License-Identifier: GPL-2.0-only
"""job: carry out a job of repro/Snakefile: a round of a comparison, or its cuts."""

from __future__ import annotations

import argparse
from pathlib import Path

from driver import kernels, losses, rounds, settings
from driver.planned import Planned
from driver.progress import Progress, Stage
from writestall_base.command_line import whole

ROUND, CUTS = "round", "cuts"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", choices=(ROUND, CUTS), help="a round's runs, or a cut of each option")
    add("number", metavar="N", type=whole(), help="which of them, from 1")
    add("folder", metavar="DIR", type=Path, help="the comparison's folder")
    losses.arguments(parser)
    settings.add_engine(parser, ("stap", "core"))
    settings.arguments(parser, kernels.WHAT)


def main(args: argparse.Namespace) -> int:
    """Do what is left of it; return 1 where no machine could be started for that.

    What failed in a machine, its console and the run's manifest say.
    """
    folder, number = args.folder.resolve(), args.number
    known = kernels.built(kernels.read(args))
    shared = known[0].settings
    remedy = "machines/ and crash/ have the consoles"
    progress = Progress((Stage(f"{args.what} {number}", remedy),), args.verbose)
    with progress.stage() as log:
        if args.what == CUTS:
            losses.make(log, folder, known, losses.Asked.of(args), [number])
            return 0
        engine = settings.engine(args.engine, shared.kernel)
        planned = Planned(folder, shared, engine)
        failed = rounds.run(log, planned, known, number)
        return int(failed > 0 and not planned.consoles(rounds.prefix(number)))
