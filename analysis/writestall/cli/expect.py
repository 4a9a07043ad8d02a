# SPDX-License-Identifier: GPL-2.0-only
"""expect: check that a run shows the chain that its scenario states, or the episodes
of the disk that it replayed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.cli import options

if TYPE_CHECKING:
    from writestall.chain.answers import Answer


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN, and what its replay is held to."""
    options.add_run(parser)
    options.add(parser, "--engine")
    again = "of a replay: it may be as far from its recording as this second one is"
    parser.add_argument("--again", type=Path, metavar="RECORDING", help=again)


def _second(args: argparse.Namespace) -> Answer | None:
    """The answer of a second recording, whose engine may be another."""
    if args.again is None:
        return None
    of_second = {"run": args.again, "engine": None}
    return options.read_answer(argparse.Namespace(**vars(args) | of_second))


def main(args: argparse.Namespace) -> int:
    """Print what is missing, or that nothing is."""
    from writestall.verdict import expect, replays

    answer = options.read_answer(args)
    if answer.run.of_host:
        name = answer.run.path
        options.print_lines([f"{name}: a host was recorded; it has no scenario"])
        return options.UNJUDGED
    if judged := replays.judge(answer, _second(args)):
        options.print_lines(judged.lines)
        return options.FAILED if judged.failed else options.ANSWERED
    misses = list(expect.misses(answer))
    name = answer.summary()["scenario"]
    good = f"as expected: {name}, {len(answer.writes)} stalled writes"
    options.print_lines(misses or [good])
    return options.FAILED if misses else options.ANSWERED
