# SPDX-License-Identifier: GPL-2.0-only
"""debug_kernel: build a kernel that checks itself; print its tree, for --kernel."""

from __future__ import annotations

import argparse
import sys

from driver.commands import setup
from machine.own import building


def arguments(parser: argparse.ArgumentParser) -> None:
    finds = (f"{name}: {row.checks}" for name, row in building.FLAVOURS.items())
    parser.add_argument(
        "--flavour",
        metavar="NAME",
        choices=building.FLAVOURS,
        default=building.DEBUG.name,
        help=f"what it finds ({'; '.join(finds)})",
    )


def main(args: argparse.Namespace) -> int:
    """Build it, unless it is built; print the tree."""
    setup.packages(("lab",))
    flavour = building.FLAVOURS[args.flavour]
    print(f"a kernel that finds {flavour.checks}", file=sys.stderr)
    print(building.tree(flavour))
    return 0
