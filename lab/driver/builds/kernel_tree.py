# SPDX-License-Identifier: GPL-2.0-only
"""kernel_tree: build a kernel from its source tree; print the tree, for --kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

from driver.commands import setup
from machine.own import building


def arguments(parser: argparse.ArgumentParser) -> None:
    what = "the source of a Linux kernel; a .config that it has is kept"
    parser.add_argument("tree", metavar="TREE", type=Path, help=what)


def main(args: argparse.Namespace) -> int:
    """Build it where it is; print its path."""
    setup.packages(("lab",))
    print(building.given(args.tree.resolve()).given)
    return 0
