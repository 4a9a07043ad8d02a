# SPDX-License-Identifier: GPL-2.0-only
"""packaging: packages, images and releases, from the files of packaging/."""

import argparse
from pathlib import Path

from driver.project import PROJECT

RECIPES = PROJECT / "packaging"


def add_output(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    """Add the folder of what is built, by default the one of that name in out/."""
    text, default = f"{what} (out/{name})", PROJECT / "out" / name
    add = parser.add_argument
    add("-o", "--output", metavar="DIR", type=Path, default=default, help=text)
