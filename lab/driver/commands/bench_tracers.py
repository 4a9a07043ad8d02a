# SPDX-License-Identifier: GPL-2.0-only
"""bench_tracers: measure what each tracer costs in write throughput."""

from __future__ import annotations

import argparse

from driver import overhead, settings
from driver.progress import Stage
from writestall_base.command_line import whole

PARTIAL = "^(none|stalled_writes)"  # no other tracer of ours sees bios and locks
STAGE = Stage("bench-tracers", "the last lines above name the tracer it was at")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rounds", type=whole(), default=5, metavar="N", help="of each tracer (5)")
    what = parser.add_mutually_exclusive_group()
    bios = "of bios, not of writes to files; only print the table"
    what.add_argument("--bios", action="store_true", help=bios)
    locks = "of writes that wait for another's lock; only print the table"
    what.add_argument("--locks", action="store_true", help=locks)
    settings.arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Measure all tracers; record and print the table."""
    command = ["python3", "tests/scripts/bench-tracers.py"]
    command += ["--rounds", str(args.rounds)]
    partial = [f"--{name}" for name in ("bios", "locks") if getattr(args, name)]
    if partial:
        command += [*partial, "--only", PARTIAL]
    found = overhead.measure(settings.read(args), STAGE, command)
    if not partial:
        overhead.record({"bench": found})
    print(overhead.bench_part(found))
    return 0
