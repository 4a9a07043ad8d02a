# SPDX-License-Identifier: GPL-2.0-only
"""completion: turns the command line's own description into completion and a man page.

Both come from what `--help` prints, so that there is one text.
"""

from __future__ import annotations

import argparse

import shtab
from argparse_manpage.manpage import Manpage

from writestall import __version__


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script that bash, zsh or tcsh reads."""
    text: str = shtab.complete(parser, shell=shell)
    return text


def man_page(parser: argparse.ArgumentParser) -> str:
    """A page for man(1), section 1, as roff."""
    data = {"project_name": parser.prog, "version": __version__}
    return f"{Manpage(parser, data)}\n"
