# SPDX-License-Identifier: GPL-2.0-only
"""cli: parse the command line of repro/plan and run it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

from labrun.comparison import matrix, plan, severity
from labrun.comparison.axes import Kernel
from labrun.comparison.of_command import OLDEST_KERNEL
from labrun.comparison.plan import Wanted
from labrun.scenario import disk_series, reading, replayed
from writestall_base import designs
from writestall_base.command_line import Parser, whole
from writestall_base.errors import EXIT_COMPLETE, UserError
from writestall_base.objectives import parse_factor, parse_objective
from writestall_base.units import duration_ns

DEFAULT_WORKLOAD = "appenders"
# The fewest in which the baseline can differ clearly from itself.
DEFAULT_ROUNDS = 8
BY = ("over-slo", "stall", "p50", "p90", "p99", "p99.9", "p99.99", "max")


def _loads(text: str) -> tuple[int, ...]:
    """Parse `50,100` into loads in percent, sorted, without duplicates."""
    return tuple(sorted({whole(1, 10_000)(word) for word in text.split(",")}))


def _budget_s(text: str) -> int:
    """Parse `2h` or `90min` into seconds."""
    found = re.fullmatch(r"(\d+)(h|min)", text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r}: want a time like 2h or 90min")
    return int(found[1]) * (3600 if found[2] == "h" else 60)


def _parser() -> Parser:
    parser = Parser(
        "repro/plan", "Plan a comparison of file systems on one disk with one workload."
    )
    add = parser.add_argument
    add("--out", metavar="DIR", type=Path, help="write the plan to this folder")
    add("--profile", metavar="DISK", default=matrix.DEFAULT_PROFILE)
    series = "a recorded disk instead: its series, and the run that it is of"
    add("--from", dest="series", nargs=2, metavar=("FILE", "RUN"), help=series)
    device = "the disk of it, by number or name (the one that bios took longest on)"
    add("--from-device", metavar="DEV", help=device)
    add("--workload", metavar="SCENARIO", default=DEFAULT_WORKLOAD)
    calls = "recorded calls instead: what makes them again, and what prepares that"
    add("--calls", nargs=2, metavar=("CMD", "PREPARE"), help=calls)
    add("--fs", metavar="A,B", default="", help="file systems or options (all)")
    add("--rounds", metavar="N", type=whole(1, 1000), default=DEFAULT_ROUNDS)
    add("--duration-s", metavar="S", type=whole(1, 86_400), default=12)
    add("--seed", metavar="N", type=whole(0, 2**31), default=1)
    add("--aged", metavar="PERCENT", type=whole(0, 90), default=0)
    loads = "percent of the workload's own load, comma-separated (100)"
    add("--load", metavar="A,B", type=_loads, default=_loads("100"), help=loads)
    factors = "the disk's delays by each of these factors, comma-separated (1)"
    add("--severity", metavar="A,B", type=severity.factors, default=(), help=factors)
    add("--inputs", metavar="TEXT", default="", help="what else the results depend on")
    more = "what the command that repeats the comparison has besides"
    add("--beside", metavar="WORDS", default="", help=more)
    kernel = "run the options on each such kernel: its name, --kernel, inputs"
    words = ("NAME", "KERNEL", "INPUTS")
    add("--on", nargs=3, metavar=words, action="append", default=[], help=kernel)
    first = "what the others are compared with (the first)"
    add("--baseline", metavar="NAME", help=first)
    looks = "rounds to decide after"
    add("--looks", metavar="A,B", type=_loads, default=(), help=looks)
    budget = "decide as early as possible within it: 2h, 90min"
    add("--budget", metavar="TIME", type=_budget_s, help=budget)
    cuts = "price: each option's machine is cut N times, after S seconds in all"
    add("--cuts", nargs=2, type=float, metavar=("N", "S"), default=(0, 0), help=cuts)
    jobs = "price: so many rounds, or cuts of all options, at a time"
    add("--jobs", type=whole(), metavar="N", help=jobs)
    trial = "plan also runs that cannot decide anything"
    add("--trial", action="store_true", help=trial)
    add("--slo", metavar="TIME", help="objective of a request's latency (65ms)")
    add("--by", choices=BY, help="what decides, of requests (over-slo)")
    add("--objective", metavar="RULE", help="judge options by it: 'over 65ms < 0.1%%'")
    add("--margin", metavar="FACTOR", help="judge options by the baseline: 1.2x")
    add("--effect", metavar="FACTOR", help="factor that has to be found (1.3x)")
    lose = "an option that lost what fsync(2) confirmed may pass"
    add("--may-lose", action="store_true", help=lose)
    repeat = "with --left: set aside the runs that the host disturbed"
    add("--repeat-disturbed", action="store_true", help=repeat)
    only = parser.add_mutually_exclusive_group().add_argument
    left = "list the runs still to do, and exit"
    only("--left", metavar="DIR", type=Path, help=left)
    only("--list", action="store_true", help="list disks and options, and exit")
    return parser


def _list() -> None:
    print("disks (--profile):")
    for path in sorted(matrix.PROFILES.glob("*.toml")):
        print(f"  {path.stem:24} {matrix.profile(path.stem)[0].purpose}")
    print("options (--fs):")
    for option in matrix.options()[0]:
        print(f"  {option.name:24} {option.what}")


def _rules(options: argparse.Namespace) -> dict[str, Any]:
    """What the plan fixes of how the comparison is decided. Raises UserError."""
    if options.objective:
        parse_objective(options.objective)
    for name, above in (("margin", 0), ("effect", 1)):
        if text := getattr(options, name):
            parse_factor(f"--{name}", text, above)
    if options.slo and not duration_ns(options.slo):
        why = "want a time with its unit, like 65ms or 1.5s"
        raise UserError(f"--slo {options.slo}: {why}")
    names = ("slo", "by", "objective", "margin", "effect", "may_lose")
    return {name: getattr(options, name) for name in names if getattr(options, name)}


def recorded_disk(series: Path, device: str | None, run: str) -> dict[str, Any]:
    """The profile's table of a disk of a series, of `export --to disk`.

    `run` is the recording; a command that repeats the comparison names it, and the
    device where one was chosen. Raises UserError.
    """
    made = disk_series.rules(series, device)
    slug = re.sub("[^a-z0-9]+", "-", made[0].lower()).strip("-")
    table = {
        "name": f"recorded-{slug}",
        "purpose": f"as slow as {made[0]} was, at the same times",
        "provenance": f"recorded in {run}",
        "inject": replayed.as_read({}, made)["inject"],
        "run": run,
    }
    return table | ({"device": device} if device else {})


def recorded_calls(command: str, prepare: str) -> dict[str, Any]:
    """The table of a scenario whose workload is a command that makes recorded calls."""
    work = {"kind": "command", "name": "application", "command": command}
    return {
        "name": designs.RECORDED_CALLS,
        "purpose": "the calls of the recording, made again at their times",
        "kernel": {"min": OLDEST_KERNEL},
        "workload": [work | {"prepare": prepare}],
    }


def _disk(options: argparse.Namespace) -> dict[str, Any]:
    """The table of the profile, or of the recorded disk. Raises UserError."""
    if options.series:
        file, run = options.series
        return recorded_disk(Path(file), options.from_device, run)
    if options.from_device:
        raise UserError("--from-device needs --from")
    return matrix.profile(options.profile)[1]


def _work(options: argparse.Namespace) -> dict[str, Any]:
    """The table of the workload's scenario, or of the recorded calls."""
    if options.calls:
        return recorded_calls(*options.calls)
    return reading.load(reading.find(options.workload))[1]


def _price(
    options: argparse.Namespace, made: dict[str, Any], cells: Sequence[plan.Cell]
) -> str:
    """The runs, and the minutes and machine hours that they and the cuts take."""
    rounds, times = made["rounds"], options.cuts[0]
    runs_s = plan.seconds(cells, options.duration_s, bool(options.jobs))
    cuts_s = plan.cut_seconds(made, *options.cuts)
    minutes = runs_s * _share(rounds, options.jobs) / 60
    what = f"{len(cells)} runs of {options.duration_s} s"
    what += f", about {minutes:.0f} minutes"
    most = made["looks"][-1] / rounds
    if len(made["looks"]) > 1:
        what += f" to {most * minutes:.0f}, at {', '.join(map(str, made['looks']))}"
        what += " rounds"
    if cuts_s:
        minutes = cuts_s * _share(times, options.jobs) / 60
        what += f", then about {minutes:.0f} minutes of cuts"
    return f"{what}; {(most * runs_s + cuts_s) / 3600:.1f} machine hours"


def _share(parts: float, jobs: int | None) -> float:
    """Which part of the time the parts take, so many at a time."""
    return ceil(parts / jobs) / parts if jobs else 1.0


def _plan(options: argparse.Namespace) -> None:
    wanted = Wanted(
        disk=_disk(options),
        work=_work(options),
        words=tuple(word for word in options.fs.split(",") if word),
        rounds=options.rounds,
        duration_s=options.duration_s,
        seed=options.seed,
        aged_percent=options.aged,
        inputs=options.inputs,
        beside=options.beside,
        loads=options.load,
        baseline=options.baseline,
        looks=options.looks,
        kernels=tuple(Kernel(*words) for words in options.on),
        factors=options.severity,
        rules=_rules(options),
    )
    if options.budget:
        looks = plan.looks_within(wanted, options.budget)
        rounds = options.rounds if options.rounds in looks else looks[0]
        wanted = replace(wanted, looks=looks, rounds=rounds)
    made, cells = plan.make(wanted)
    if not options.trial:
        plan.refuse_undecidable(wanted, made, cells)
    if options.out is None:
        print(f"{_price(options, made, cells)}; --out DIR writes the plan")
        return
    try:
        plan.write(options.out, made, cells)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    left = len(plan.unfinished(options.out))
    print(f"{left} of {len(cells)} runs of {options.duration_s} s to do")


def _command(options: argparse.Namespace) -> int:
    if options.list:
        _list()
    elif options.left:
        if options.repeat_disturbed:
            plan.set_disturbed_aside(options.left)
        for name, *_ in plan.unfinished(options.left):
            print(name)
    else:
        _plan(options)
    return EXIT_COMPLETE


def main() -> int:
    return _parser().carry_out(_command)
