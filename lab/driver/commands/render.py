# SPDX-License-Identifier: GPL-2.0-only
"""render: write what the programs docs/render-NAME.py make of the tree's tables.

Each of them runs alone, too: with the libraries of the analysis, and base:analysis as
PYTHONPATH.
"""

from __future__ import annotations

import argparse
import subprocess

from driver.commands import setup
from driver.project import PROJECT, importing
from writestall_base.errors import UserError

PROGRAMS = (PROJECT / "docs").glob("render-*.py")
NAMES = sorted(path.stem.removeprefix("render-") for path in PROGRAMS)


def arguments(parser: argparse.ArgumentParser) -> None:
    text = f"what to render: {', '.join(NAMES)} (all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)
    parser.add_argument("--check", action="store_true", help="write nothing")


def main(args: argparse.Namespace) -> int:
    """Run them; 1 if one failed, or, with --check, if a file differs."""
    for name in {*args.names}.difference(NAMES):
        raise UserError(f"unknown {name!r}; use {', '.join(NAMES)}")
    python, failed = str(setup.python(())), False
    for name in args.names or NAMES:
        program = str(PROJECT / f"docs/render-{name}.py")
        command = [python, program, *(["--check"] if args.check else [])]
        failed |= subprocess.run(command, env=importing(), check=False).returncode != 0
    return int(failed)
