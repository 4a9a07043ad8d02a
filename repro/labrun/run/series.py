# SPDX-License-Identifier: GPL-2.0-only
"""series: run the unfinished cells of a plan.

Ends at the first that fails, because the next ones would find what it left behind. The
caller starts the series again without that cell, on another machine.
"""

from __future__ import annotations

import argparse
import shutil

from labrun.comparison import plan
from labrun.run import settings, stages
from labrun.scenario import reading
from writestall_base.errors import EXIT_COMPLETE
from writestall_base.progress import Progress, say
from writestall_base.steps import Run
from writestall_base.stop import Stop


def run(options: argparse.Namespace, stop: Stop) -> int:
    """Run them in order; return the first status that is not 0, else 0."""
    left, only = plan.unfinished(options.plan), options.only
    cells = [row for row in left if row[0] in only or not only]
    for number, (name, file, out) in enumerate(cells, 1):
        stop.check()
        say(f"{number} of {len(cells)}: {name}")
        found, table = reading.load(file)
        prepared = settings.prepare(found, table, options, stop)
        if out.exists():
            shutil.rmtree(out)  # left by an interrupted machine
        one = Run(out.resolve(), Progress(options.progress), stop)
        status = stages.carry_out(one, prepared)
        if status != EXIT_COMPLETE:
            say(f"{name}: {one.manifest['status']} ({one.manifest['reason']})")
            return status
    return EXIT_COMPLETE
