# SPDX-License-Identifier: GPL-2.0-only
"""debug_kernel: build a kernel that checks itself; print its tree, for --kernel."""

from __future__ import annotations

import argparse
import sys

from driver.commands import setup
from machine.own import building


def arguments(parser: argparse.ArgumentParser) -> None:
    what = f"the one that finds {building.KCSAN.checks}"
    parser.add_argument("--kcsan", action="store_true", help=what)


def main(args: argparse.Namespace) -> int:
    """Build it, unless it is built; print the tree."""
    setup.packages(("lab",))
    flavour = building.KCSAN if args.kcsan else building.DEBUG
    print(f"a kernel that finds {flavour.checks}", file=sys.stderr)
    print(building.tree(flavour))
    return 0
