# SPDX-License-Identifier: GPL-2.0-only
"""completion: print the completion of all commands for a shell."""

from __future__ import annotations

import argparse

from writestall.cli import options, parser
from writestall.export.formats import load

SHELLS = ("bash", "zsh", "tcsh")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    what = f"one of {', '.join(SHELLS)}"
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=what)


def main(args: argparse.Namespace) -> int:
    """Print a script for the shell to read."""
    load("shtab", "shtab")
    import shtab

    print(shtab.complete(parser.whole_parser(), shell=args.shell), end="")
    return options.ANSWERED
