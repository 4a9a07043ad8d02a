# SPDX-License-Identifier: GPL-2.0-only
"""outputs: the commands that hand a run to other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.export import FORMATS, export
from writestall.units import printable

if TYPE_CHECKING:
    from writestall.model import Answer

Call = Callable[[argparse.Namespace], int]
# cli's own way to add a command that reads a run: name, call, what, example.
Add = Callable[[str, Call, str, str], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    """Adds `export` to the command line."""
    formats = "; ".join(f"{name}: {row.what}" for name, row in FORMATS.items())
    to = add(
        "export",
        _export,
        "a run in another program's format",
        "writestall export out/latest --to perfetto -o run.pftrace",
    )
    to.add_argument("--to", required=True, choices=FORMATS, help=formats)
    what = "where to; a new folder for parquet (standard output)"
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help=what)
    to.add_argument(
        "--all",
        action="store_true",
        help="writes to other disks than the run's too",
    )
    to.add_argument(
        "--engine",
        choices=("stap", "bpftrace"),
        help="whose events (stap where both are there)",
    )


def _answer(args: argparse.Namespace) -> Answer:
    from writestall import model, rundir

    return model.answer(rundir.open_run(args.run), args.engine, args.all)


def _export(args: argparse.Namespace) -> int:
    target = None if args.output == Path("-") else args.output
    answer = _answer(args)
    text = export(answer, args.to, target)
    for note in answer.notes:
        print(f"note: {printable(note)}", file=sys.stderr)
    if text is not None:
        # A terminal would obey what names hold; a pipe gets them as they are.
        seen = sys.stdout.isatty()
        lines = text.splitlines() if seen else []
        sys.stdout.write("".join(f"{printable(ln)}\n" for ln in lines) or text)
    return 0
