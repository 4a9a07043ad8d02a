# SPDX-License-Identifier: GPL-2.0-only
"""compare_options: rank the file systems and options of a comparison's folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from writestall.cli import options
from writestall.export.formats import load
from writestall_base.files import save, save_inside
from writestall_base.units import printable

# As ranking.CHOICES has them: naming them must not load numpy.
BY = ("p50", "p90", "p99", "p99.9", "p99.99", "max", "over-slo", "stall")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder, the objective and where the answer goes."""
    add = parser.add_argument
    what = "folder of a comparison, made by writestall compare"
    add("folder", type=options.existing, metavar="DIR", help=what)
    add("--slo", default="65ms", metavar="TIME", help="objective of a request (65ms)")
    by = "what decides, of requests (p99.9)"
    add("--by", choices=BY, default="p99.9", help=by)
    load_help = "compare at this load (the highest that every option held)"
    add("--load", type=int, metavar="PERCENT", help=load_help)
    options.add_json(parser)
    options.add_unpack(parser)
    add("--html", type=Path, metavar="FILE", help="write a page too")
    write = "write compare.txt, compare.json and compare.html into the folder"
    add("--write", action="store_true", help=write)


def main(args: argparse.Namespace) -> int:
    """Print the ranking."""
    load("writestall.compare.statistics", "scipy", "compare")
    from writestall.compare import folder, page, ranking, text
    from writestall.events.run_directory import json_bytes

    slo_ns = ranking.parse_slo(args.slo)
    opened = folder.open_comparison(args.folder, args.load, options.bound(args))
    answer = ranking.answer(opened, slo_ns, args.by)
    printed = "".join(f"{printable(line)}\n" for line in text.lines(answer))
    record = json_bytes(text.as_json(answer))
    if args.html:
        save(args.html, page.page(answer).encode())
    if args.write:
        save_inside(args.folder, "compare.txt", printed.encode())
        save_inside(args.folder, "compare.json", record)
        save_inside(args.folder, "compare.html", page.page(answer).encode())
    sys.stdout.write(record.decode() if args.json else printed)
    return options.ANSWERED
