# SPDX-License-Identifier: GPL-2.0-only
"""shell_files: render the command line as completion for a shell and as a man page.

Both come from what `--help` prints, so that there is one text.
"""

from __future__ import annotations

import argparse

import shtab
from argparse_manpage.manpage import Manpage

from writestall import __version__


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script for bash, zsh or tcsh to read."""
    text: str = shtab.complete(parser, shell=shell)
    return text


def man_page(parser: argparse.ArgumentParser) -> str:
    """A page for man(1), section 1, as roff."""
    data = {"project_name": parser.prog, "version": __version__}
    return f"{Manpage(parser, data)}\n"
