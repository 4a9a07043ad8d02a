# SPDX-License-Identifier: GPL-2.0-only
"""series: a plan's cells that are not finished to their run directories.

Ends at the first that fails: what it left behind must meet no other. Whoever
started the series starts it again, on another machine, without that one.
"""

from __future__ import annotations

import argparse
import shutil

from labrun.comparison import plan
from labrun.errors import EXIT_COMPLETE
from labrun.progress import Progress, say
from labrun.run import settings, stages
from labrun.scenario import reading
from labrun.steps import Run
from labrun.stop import Stop


def run(options: argparse.Namespace, stop: Stop) -> int:
    """Run them in order; the first status that is not 0, else 0."""
    left, only = plan.unfinished(options.plan), options.only
    cells = [row for row in left if row[0] in only or not only]
    for number, (name, file, out) in enumerate(cells, 1):
        stop.check()
        say(f"{number} of {len(cells)}: {name}")
        found, table = reading.load(file)
        decided = settings.decide(found, table, options, stop)
        if out.exists():
            shutil.rmtree(out)  # what an interrupted machine left
        one = Run(out.resolve(), Progress(options.progress), stop)
        status = stages.carry_out(one, decided)
        if status != EXIT_COMPLETE:
            say(f"{name}: {one.manifest['status']} ({one.manifest['reason']})")
            return status
    return EXIT_COMPLETE
