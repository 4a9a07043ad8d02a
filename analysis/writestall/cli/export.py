# SPDX-License-Identifier: GPL-2.0-only
"""export: write a run in another program's format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from writestall.cli import options
from writestall.common.units import printable
from writestall.export import formats


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN, the format and where it goes."""
    options.add_run(parser)
    known = "; ".join(f"{name}: {row.what}" for name, row in formats.FORMATS.items())
    parser.add_argument("--to", required=True, choices=formats.FORMATS, help=known)
    where = "write to FILE, for parquet to a new folder (standard output)"
    options.add_output(parser, where)
    options.add_all(parser)
    options.add_engine(parser)


def main(args: argparse.Namespace) -> int:
    """Write or print the run."""
    target = None if args.output == Path("-") else args.output
    answer = options.read_answer(args)
    text = formats.export(answer, args.to, target)
    for note in answer.notes:
        print(f"note: {printable(note)}", file=sys.stderr)
    if text is not None and sys.stdout.isatty():
        options.print_lines(text.splitlines())
    elif text is not None:
        # A pipe gets names as they are.
        sys.stdout.write(text)
    return options.ANSWERED
