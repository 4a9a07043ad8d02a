# SPDX-License-Identifier: GPL-2.0-only
"""deb: build the Debian packages."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from driver.packaging import OUT, debian, sources


def a_version(text: str) -> str:
    """An argument type: numbers with dots between."""
    if not re.fullmatch(r"\d+(\.\d+)+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: want a version, like 0.1.0")
    return text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder and the version."""
    add = parser.add_argument
    where = "folder for the packages (out/deb)"
    add("-o", "--output", type=Path, default=OUT / "deb", metavar="DIR", help=where)
    other = "call the packages by that version, to try an upgrade"
    add("--version", type=a_version, metavar="V", help=other)


def main(args: argparse.Namespace) -> int:
    """Build, and print the packages."""
    for path in debian.build(args.output, args.version or sources.version()):
        print(path)
    return 0
