# SPDX-License-Identifier: GPL-2.0-only
"""soak_tracers: measure what an engine's tracers lose and hold over many stalls."""

from __future__ import annotations

import argparse

from driver import overhead, settings
from driver.progress import Stage
from writestall_base.command_line import whole

ENGINES = ("stap", "core")
STAGE = Stage("soak-tracers", "the last line above says what was lost, or grew")


def arguments(parser: argparse.ArgumentParser) -> None:
    number = parser.add_argument
    settings.add_engine(parser, ENGINES)
    number("--stalls", type=whole(), default=100_000, metavar="N", help="(100000)")
    number("--duration", type=whole(), default=1800, metavar="S", help="seconds (1800)")
    settings.arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Run one engine's tracers over the stalls; record and print the table."""
    shared = settings.read(args)
    engine = settings.engine(args.engine, shared.kernel)
    command = ["python3", "tests/scripts/soak-tracers.py", "--engine", engine]
    command += ["--stalls", str(args.stalls), "--seconds", str(args.duration)]
    found = overhead.measure(shared, STAGE, command)
    overhead.record({"soak": overhead.recorded("soak") | {engine: found}})
    print(overhead.soak_part({engine: found}))
    return 0
