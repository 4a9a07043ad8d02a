# SPDX-License-Identifier: GPL-2.0-only
"""hist: show the distribution of a run's latencies, and what the stalls waited for."""

from __future__ import annotations

import argparse

from writestall.cli import options
from writestall_base.errors import UserError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN and the picture."""
    options.add_picture(parser)
    what = "show the distribution if waits of this class had taken no time"
    parser.add_argument("--what-if", metavar="CLASS=0", help=what)


def main(args: argparse.Namespace) -> int:
    """Print or draw the distribution."""
    return _measured(args) if args.what_if is None else _what_if(args)


def _measured(args: argparse.Namespace) -> int:
    from writestall.pictures import distribution, terminal

    answer = options.read_answer(args)
    found = distribution.histogram(answer)
    return options.show(
        args.output,
        lambda image, suffix: image.histogram(answer, found, suffix),
        lambda: terminal.histogram(answer, found),
    )


def _what_if(args: argparse.Namespace) -> int:
    from writestall.pictures import terminal_what_if
    from writestall.whatif import proof, removal

    cls, _, left = args.what_if.partition("=")
    if cls not in removal.CLASSES or left != "0":
        known = ", ".join(removal.CLASSES)
        raise UserError(f"--what-if {args.what_if}: want CLASS=0 of {known}")
    answer = options.read_answer(args)
    found = removal.what_if(answer, cls)
    proofs = proof.proofs(cls, answer.run.get("filesystem", "type"))
    return options.show(
        args.output,
        lambda image, suffix: image.what_if(answer, found, suffix),
        lambda: terminal_what_if.what_if(answer, found, proofs),
    )
