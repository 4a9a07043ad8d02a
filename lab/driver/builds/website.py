# SPDX-License-Identifier: GPL-2.0-only
"""website: build docs/ as a site; docs/website does it, in a Python that has Sphinx."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from driver.commands import setup
from driver.project import PROJECT, importing

OUT = PROJECT / "out/site"


def arguments(parser: argparse.ArgumentParser) -> None:
    what = "folder of the site, new or made by this command (out/site)"
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=what)


def main(args: argparse.Namespace) -> int:
    """Build the site; print its first page."""
    python = setup.python(("docs",))
    environment = importing("docs") | {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-m", "website", "--out", str(args.out)]
    status = subprocess.run(command, env=environment, check=False).returncode
    if not status:
        print(args.out / "index.html")
    return status
