# SPDX-License-Identifier: GPL-2.0-only
"""comparison: the command that turns a comparison's folder into its reports."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from writestall.cli.outputs import Add
from writestall.common.files import save
from writestall.common.units import printable

# As ranking.CHOICES has them: naming them must not load numpy.
BY = ("p50", "p90", "p99", "p99.9", "p99.99", "max", "over-slo", "stall")


def add_commands(add: Add) -> None:
    """Adds `compare-options` to the command line."""
    compare = add(
        "compare-options",
        _compare,
        "which file system and options stall least, and how sure that is",
        "writestall compare-options out/compare/dying-hdd-appenders-6.12 --slo 65ms",
    )
    compare.add_argument(
        "--slo", default="65ms", metavar="TIME", help="objective of a request (65ms)"
    )
    compare.add_argument(
        "--by", choices=BY, default="p99.9", help="what decides, of requests (p99.9)"
    )
    compare.add_argument(
        "--load",
        type=int,
        metavar="PERCENT",
        help="compare at this load (the highest that every option held)",
    )
    compare.add_argument("--json", action="store_true", help="print JSON")
    compare.add_argument("--html", type=Path, metavar="FILE", help="write a page too")
    compare.add_argument(
        "--write",
        action="store_true",
        help="write compare.txt, compare.json and compare.html into the folder",
    )


def _compare(args: argparse.Namespace) -> int:
    from writestall.export.formats import load

    load("compare.statistics", "scipy", "compare")
    from writestall.compare import folder, page, ranking
    from writestall.compare import text as standing_text
    from writestall.events.run_directory import json_bytes

    slo_ns = ranking.parse_slo(args.slo)
    opened = folder.open_comparison(args.run, args.load)
    answer = ranking.answer(opened, slo_ns, args.by)
    text = "".join(f"{printable(line)}\n" for line in standing_text.lines(answer))
    record = json_bytes(standing_text.as_json(answer))
    if args.html:
        save(args.html, page.page(answer).encode())
    if args.write:
        save(args.run / "compare.txt", text.encode())
        save(args.run / "compare.json", record)
        save(args.run / "compare.html", page.page(answer).encode())
    sys.stdout.write(record.decode() if args.json else text)
    return 0
