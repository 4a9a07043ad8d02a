# SPDX-License-Identifier: GPL-2.0-only
"""check: compare the explanation of a run with the injector's own record."""

from __future__ import annotations

import argparse

from writestall.cli import options


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN and the least share."""
    options.add_run(parser)
    share = options.number(1, "a share from 0 to 1")
    what = "least share of roots, precision and recall, 0 to 1 (0.95)"
    parser.add_argument("--min", type=share, default=0.95, metavar="X", help=what)
    options.add(parser, "--json", "--engine")


def main(args: argparse.Namespace) -> int:
    """Print the verdict."""
    from writestall.verdict import check

    run = options.open_run(args)
    if why := check.unjudged(run):
        options.print_lines([why])
        return options.UNJUDGED
    verdict = check.check(options.read_answer(args, run))
    if args.json:
        options.print_json(verdict.as_json())
    else:
        options.print_lines(check.lines(verdict, args.run, args.min))
    return options.FAILED if verdict.failures(args.min) else options.ANSWERED
