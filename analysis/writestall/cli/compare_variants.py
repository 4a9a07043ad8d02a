# SPDX-License-Identifier: GPL-2.0-only
"""compare_variants: print what the application saw in each run of a folder of runs."""

from __future__ import annotations

import argparse
import contextlib
import sys

from writestall.cli import options
from writestall.export.formats import load
from writestall_base.errors import UserError
from writestall_base.files import save_inside


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder."""
    what = "folder of runs, made by writestall variants"
    parser.add_argument("folder", type=options.existing, metavar="DIR", help=what)
    options.add(parser, "--json", "--unpack-mib")


def main(args: argparse.Namespace) -> int:
    """Print the table; write it as variants.json too."""
    from writestall.compare import variants
    from writestall.events.run_directory import json_bytes

    found = variants.rows(args.folder, bound=options.bound(args))
    record = json_bytes(found)
    # A folder that refuses must not hide the answer.
    with contextlib.suppress(UserError):
        save_inside(args.folder, "variants.json", record)
    if args.json:
        sys.stdout.write(record.decode())
    else:
        if variants.has_rounds(found):  # their table has intervals
            load("writestall.compare.statistics", "scipy", "compare")
        options.print_lines(variants.lines(found))
    return options.ANSWERED
