# SPDX-License-Identifier: GPL-2.0-only
"""compare_options: rank the file systems and options of a comparison's folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from writestall.cli import options
from writestall.export.formats import load
from writestall_base.errors import UserError
from writestall_base.files import save, save_inside
from writestall_base.objectives import parse_factor
from writestall_base.units import printable

# What a plan fixes, and an option may state otherwise.
RULES = ("slo", "by", "objective", "margin", "effect", "may_lose")
# As ranking.CHOICES has them: naming them must not load numpy.
BY = ("over-slo", "stall", "p50", "p90", "p99", "p99.9", "p99.99", "max")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder, the rules and where the answer goes."""
    add = parser.add_argument
    what = "folder of a comparison, made by writestall compare; several are joined"
    add("folder", type=options.existing, nargs="+", metavar="DIR", help=what)
    add("--slo", default=None, metavar="TIME", help="objective of a request (65ms)")
    add("--by", choices=BY, help="what decides, of requests (over-slo)")
    objective = "judge options by one: 'over 65ms < 0.1%%'"
    add("--objective", metavar="RULE", help=objective)
    margin = "judge options by what they may be of the baseline: 1.2x"
    add("--margin", metavar="FACTOR", help=margin)
    effect = "factor that a comparison has to find (1.3x)"
    add("--effect", metavar="FACTOR", help=effect)
    lose = "an option that lost what fsync(2) confirmed may pass"
    add("--may-lose", action="store_true", help=lose)
    load_help = "compare at this load (the highest that every option held)"
    add("--load", type=int, metavar="PERCENT", help=load_help)
    options.add(parser, "--json", "--unpack-mib")
    add("--html", type=Path, metavar="FILE", help="write a page too")
    write = "write compare.txt, compare.json and compare.html into the folder"
    add("--write", action="store_true", help=write)


def main(args: argparse.Namespace) -> int:
    """Print the sheet and the tables; the status is that of the verdicts."""
    load("writestall.compare.statistics", "scipy", "compare")
    from writestall.compare import folder, page, ranking, rules, sheet, text
    from writestall.events.run_directory import json_bytes

    first, *others = args.folder
    if others and args.write:
        raise UserError("--write: want one folder; --html FILE and --json take several")
    opened = folder.open_comparison(first, args.load, options.bound(args), *others)
    fixed = opened.plan.get("rules") or {}
    asked = {name: getattr(args, name) or fixed.get(name) for name in RULES}
    held_to = rules.of_plan({"rules": asked})
    slo_ns = ranking.parse_slo(asked["slo"] or "65ms")
    if held_to.objective:
        slo_ns = held_to.objective.slo_ns
    effect = parse_factor("--effect", asked["effect"]) if asked["effect"] else None
    answer = ranking.answer(
        opened,
        slo_ns,
        asked["by"] or ranking.DEFAULT_BY,
        effect or ranking.DEFAULT_EFFECT,
    )
    verdicts = rules.verdicts(answer, held_to)
    made = sheet.of(answer, held_to, verdicts)
    printed = "".join(f"{printable(line)}\n" for line in text.lines(answer, made))
    record = json_bytes(text.as_json(answer, made, verdicts))
    if args.html:
        save(args.html, page.page(answer, made).encode())
    if args.write:
        save_inside(first, "compare.txt", printed.encode())
        save_inside(first, "compare.json", record)
        save_inside(first, "compare.html", page.page(answer, made).encode())
    sys.stdout.write(record.decode() if args.json else printed)
    return _status({one.word for one in verdicts})


def _status(words: set[str]) -> int:
    """0 if all options pass or none is judged, 1 if one fails, 3 if one is open."""
    if "FAIL" in words:
        return options.FAILED
    return options.UNJUDGED if words - {"PASS"} else options.ANSWERED
