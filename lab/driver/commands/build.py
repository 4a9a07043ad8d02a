# SPDX-License-Identifier: GPL-2.0-only
"""build: compile the module, the workloads and the scripts for one kernel."""

from __future__ import annotations

import argparse

from driver import artefacts
from machine import cli, recipe


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-k", "--kernel", metavar="KERNEL", help=recipe.WHAT_KERNEL)
    cli.add_arch(parser)
    what = "also what the tests need"
    add("--tests", action="store_true", help=what)
    add("--lessons", action="store_true", help="also SystemTap's lessons")


def main(args: argparse.Namespace) -> int:
    """Build what is not built yet; print the folder."""
    tests = artefacts.FOR_TESTS if args.tests else ()
    lessons = artefacts.LESSONS if args.lessons else ()
    print(artefacts.build(args.kernel, (*tests, *lessons)))
    return 0
