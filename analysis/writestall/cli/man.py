# SPDX-License-Identifier: GPL-2.0-only
"""man: print writestall(1) as roff; its text is that of `--help`."""

from __future__ import annotations

import argparse

from writestall import __version__
from writestall.cli import options, parser
from writestall.export.formats import load


def main(args: argparse.Namespace) -> int:
    """Print the page."""
    load("argparse_manpage", "argparse-manpage")
    from argparse_manpage.manpage import Manpage

    data = {
        "project_name": "writestall",
        "version": __version__,
        "manual_title": "User Commands",
        "description": "say why write(2) stalled",
    }
    print(Manpage(parser.whole_parser(), data))
    return options.ANSWERED
