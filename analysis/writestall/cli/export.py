# SPDX-License-Identifier: GPL-2.0-only
"""export: write a run in another program's format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from writestall.cli import options
from writestall.export import formats
from writestall_base.errors import UserError
from writestall_base.units import printable


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN, the format and where it goes."""
    options.add_run(parser)
    known = "; ".join(f"{name}: {row.what}" for name, row in formats.FORMATS.items())
    parser.add_argument("--to", choices=tuple(formats.FORMATS), help=known)
    redact = "replace paths, names of tasks and of the host; without --to, write a run"
    parser.add_argument("--redact", action="store_true", help=redact)
    where = "write to FILE, for parquet to a new folder (standard output)"
    options.add_output(parser, where)
    options.add(parser, "--all", "--engine")


def main(args: argparse.Namespace) -> int:
    """Write or print the run."""
    target = None if args.output == Path("-") else args.output
    if not args.redact:
        if args.to is None:
            raise UserError("export: name a format with --to, or --redact")
        return _export(args, target)
    if args.to is None:
        if target is None:
            raise UserError("--redact: name a new folder with -o")
        return _redact(args, target)
    with TemporaryDirectory(prefix="writestall-") as folder:
        redacted = Path(folder, "run")
        _redact(args, redacted)
        args.run = redacted
        return _export(args, target)


def _redact(args: argparse.Namespace, target: Path) -> int:
    """Write the run without names; print what it lacks."""
    from writestall.export.redacted.run import redact

    summary = redact(args.run, target, options.bound(args))
    print(printable(summary), file=sys.stderr)
    return options.ANSWERED


def _export(args: argparse.Namespace, target: Path | None) -> int:
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
