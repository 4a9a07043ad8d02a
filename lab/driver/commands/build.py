# SPDX-License-Identifier: GPL-2.0-only
"""build: compile the module, the workloads and the scripts for one kernel."""

from __future__ import annotations

import argparse

from driver import artefacts


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("-k", "--kernel", metavar="NAME", help="of vm/kernels.toml")
    what = "also what the tests need"
    parser.add_argument("--tests", action="store_true", help=what)


def main(args: argparse.Namespace) -> int:
    """Build what is not built yet; print the folder."""
    print(artefacts.build(args.kernel, artefacts.FOR_TESTS if args.tests else ()))
    return 0
