# SPDX-License-Identifier: GPL-2.0-only
"""plan_cli: repro/plan's command line to a plan in a folder, or to lists."""

from __future__ import annotations

import argparse
from pathlib import Path

from labrun.comparison import matrix, plan
from labrun.comparison.plan import Wanted
from labrun.errors import EXIT_COMPLETE, EXIT_REFUSED, RefusedError
from labrun.progress import say
from labrun.run.cli import OneLineParser, whole

DEFAULT_WORKLOAD = "appenders"


def _loads(text: str) -> tuple[int, ...]:
    """`50,100` to loads in percent, the lowest first, each once."""
    return tuple(sorted({whole(1, 10_000)(word) for word in text.split(",")}))


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="repro/plan",
        description="Plan a comparison of file systems on one disk with one workload.",
    )
    add = parser.add_argument
    add("folder", nargs="?", metavar="DIR", type=Path, help="the comparison's folder")
    add("--profile", metavar="DISK", default=matrix.DEFAULT_PROFILE)
    add("--workload", metavar="SCENARIO", default=DEFAULT_WORKLOAD)
    add("--fs", metavar="A,B", default="", help="file systems or options (all)")
    add("--rounds", metavar="N", type=whole(1, 1000), default=3)
    add("--duration-s", metavar="S", type=whole(1, 86_400), default=12)
    add("--seed", metavar="N", type=whole(0, 2**31), default=1)
    add("--aged", metavar="PERCENT", type=whole(0, 90), default=0)
    loads = "percent of the workload's own load, by commas (100)"
    add("--load", metavar="A,B", type=_loads, default=_loads("100"), help=loads)
    add("--inputs", metavar="TEXT", default="", help="what else the results rest on")
    add("--left", action="store_true", help="list the runs DIR still lacks, and stop")
    add("--list", action="store_true", help="list disks and options, and stop")
    return parser


def _list() -> None:
    print("disks (--profile):")
    for path in sorted(matrix.PROFILES.glob("*.toml")):
        print(f"  {path.stem:24} {matrix.profile(path.stem)[0].purpose}")
    print("options (--fs):")
    for option in matrix.options()[0]:
        print(f"  {option.name:24} {option.what}")


def _plan(options: argparse.Namespace) -> None:
    wanted = Wanted(
        profile=options.profile,
        workload=options.workload,
        words=tuple(word for word in options.fs.split(",") if word),
        rounds=options.rounds,
        duration_s=options.duration_s,
        seed=options.seed,
        aged_percent=options.aged,
        inputs=options.inputs,
        loads=options.load,
    )
    made, cells = plan.make(wanted)
    if options.folder is None:
        print(f"{len(cells)} runs of {options.duration_s} s; DIR is where they go")
        return
    try:
        plan.write(options.folder, made, cells)
    except OSError as error:
        raise RefusedError(f"{error.filename}: {error.strerror}") from None
    left = len(plan.unfinished(options.folder))
    print(f"{left} of {len(cells)} runs of {options.duration_s} s to do")


def main() -> int:
    """Plan; bad input becomes one line on stderr."""
    try:
        options = _parser().parse_args()
        if options.list:
            _list()
        elif options.left and options.folder:
            for name, *_ in plan.unfinished(options.folder):
                print(name)
        else:
            _plan(options)
    except RefusedError as refused:
        for line in refused.lines:
            say(f"repro/plan: {line}")
        return EXIT_REFUSED
    return EXIT_COMPLETE
