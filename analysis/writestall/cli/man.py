# SPDX-License-Identifier: GPL-2.0-only
"""man: print writestall(1) as roff."""

from __future__ import annotations

import argparse
import sys

from writestall.cli import options, parser
from writestall.export.formats import load


def arguments(parser: argparse.ArgumentParser) -> None:
    """There are no options."""


def main(args: argparse.Namespace) -> int:
    """Print the man page, made of what `--help` prints."""
    made = load("cli.shell_files", "argparse-manpage")
    sys.stdout.write(made.man_page(parser.whole_parser()))
    return options.ANSWERED
