# SPDX-License-Identifier: GPL-2.0-only
"""expect: check that a run shows the chain that its scenario states."""

from __future__ import annotations

import argparse

from writestall.cli import options


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN."""
    options.add_run(parser)
    options.add_engine(parser)


def main(args: argparse.Namespace) -> int:
    """Print what is missing, or that nothing is."""
    from writestall.verdict import expect

    answer = options.read_answer(args)
    if answer.run.of_host:
        name = answer.run.path
        options.print_lines([f"{name}: a host was recorded; it has no scenario"])
        return options.UNJUDGED
    misses = list(expect.misses(answer))
    name = answer.summary()["scenario"]
    good = f"as expected: {name}, {len(answer.writes)} stalled writes"
    options.print_lines(misses or [good])
    return options.FAILED if misses else options.ANSWERED
