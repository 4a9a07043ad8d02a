# SPDX-License-Identifier: GPL-2.0-only
"""website: build docs/ as a site; docs/website does it, in a Python that has Sphinx."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from driver.commands import setup
from driver.project import PROJECT

OUT = PROJECT / "out/site"
FOLDERS = ("base", "docs", "analysis")  # of what it imports


def arguments(parser: argparse.ArgumentParser) -> None:
    what = "folder of the site, new or made by this command (out/site)"
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=what)


def main(args: argparse.Namespace) -> int:
    """Build the site; print its first page."""
    python = setup.python(("docs",))
    path = os.pathsep.join(str(PROJECT / folder) for folder in FOLDERS)
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-m", "website", "--out", str(args.out)]
    status = subprocess.run(command, env=environment, check=False).returncode
    if not status:
        print(args.out / "index.html")
    return status
