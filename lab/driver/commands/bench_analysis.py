# SPDX-License-Identifier: GPL-2.0-only
"""bench_analysis: measure what explain, report and check cost, by number of events."""

from __future__ import annotations

import argparse
import subprocess

from driver.commands import setup
from driver.project import PROJECT, importing
from writestall_base.command_line import whole


def arguments(parser: argparse.ArgumentParser) -> None:
    sizes = "numbers of events (10^4 to 10^7)"
    parser.add_argument("sizes", nargs="*", type=whole(), metavar="N", help=sizes)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark in the analysis' Python."""
    python = setup.python(setup.TESTS)
    bench = [str(python), "tests/analysis/speed/bench.py", *map(str, args.sizes)]
    found = importing("tests/analysis/helpers")
    return subprocess.run(bench, cwd=PROJECT, env=found, check=False).returncode
