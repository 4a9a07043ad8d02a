# SPDX-License-Identifier: GPL-2.0-only
"""bench_tracers: measure what each tracer costs in write throughput."""

from __future__ import annotations

import argparse

from driver import overhead, settings
from driver.progress import Stage, StageError
from driver.settings import whole

OF_BIOS = "^(none|stalled_writes)"  # no other tracer of ours sees a bio
STAGE = Stage("bench-tracers", "the last lines above name the tracer it was at")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--rounds", type=whole(), default=5, metavar="N", help="of each tracer (5)")
    bios = "of bios, not of writes to files; only print the table"
    add("--bios", action="store_true", help=bios)
    settings.arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Measure all tracers; record and print the table."""
    command = ["python3", "tests/scripts/bench-tracers.py"]
    command += ["--rounds", str(args.rounds)]
    if args.bios:
        command += ["--bios", "--only", OF_BIOS]
    try:
        found = overhead.measure(settings.read(args), STAGE, command)
    except StageError as failed:
        return failed.status
    if not args.bios:
        overhead.record({"bench": found})
    print(overhead.bench_part(found))
    return 0
