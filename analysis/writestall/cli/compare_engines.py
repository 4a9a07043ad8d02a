# SPDX-License-Identifier: GPL-2.0-only
"""compare_engines: check that both engines and the client saw the same stalls."""

from __future__ import annotations

import argparse

from writestall.cli import options


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN and the tolerance."""
    options.add_run(parser)
    what = "time the client may be awake between its sleeps, on a busy host (0)"
    ms = options.number(1e9, "milliseconds, 0 or more")
    parser.add_argument("--awake-ms", type=ms, default=0.0, metavar="MS", help=what)


def main(args: argparse.Namespace) -> int:
    """Print the comparison."""
    from writestall.events import run_directory
    from writestall.verdict import engines

    awake_ns = int(args.awake_ms * 1e6)
    result = engines.compare(run_directory.open_run(args.run), awake_ns)
    options.print_lines(engines.lines(result))
    return options.FAILED if result.misses else options.ANSWERED
