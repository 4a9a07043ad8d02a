# SPDX-License-Identifier: GPL-2.0-only
"""cli: parse the command line of repro/run and run it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import signal
import time
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from labrun.comparison import of_command, plan
from labrun.injectors import registry
from labrun.run import dry_run, settings, stages, tracer
from labrun.scenario import modes, reading, replayed, variants
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import MODES as HOLDING
from writestall_base import TREE
from writestall_base.command_line import Parser, whole
from writestall_base.errors import EXIT_COMPLETE, EXIT_FAILED, EXIT_REFUSED, UserError
from writestall_base.progress import MODES, Progress, say
from writestall_base.steps import Run
from writestall_base.stop import Stop

MAX_DURATION_S = 86_400
EXIT_STATUSES = {
    EXIT_COMPLETE: "the run is complete",
    EXIT_FAILED: "a step failed; the run directory says which and why",
    EXIT_REFUSED: "refused before anything was changed: scenario, machine or disk",
    128 + signal.SIGHUP: "interrupted by SIGHUP, everything undone",
    128 + signal.SIGINT: "interrupted by SIGINT (Ctrl-C), everything undone",
    128 + signal.SIGTERM: "interrupted by SIGTERM, everything undone",
}


def _parser() -> Parser:
    statuses = "\n".join(
        f"  {status:3}  {meaning}" for status, meaning in EXIT_STATUSES.items()
    )
    parser = Parser(
        "repro/run",
        "Run one scenario on this machine and write a run directory.",
        f"exit status:\n{statuses}",
    )
    add = parser.add_argument
    what = "a name of --list, or a .toml file; NAME:VARIANT for one of its variants"
    add("scenario", nargs="?", metavar="SCENARIO", help=what)
    of_command.arguments(parser)
    replayed.arguments(parser)
    plan_help = "run the cells of a plan instead of a SCENARIO"
    add("--plan", metavar="DIR", type=Path, help=plan_help)
    cell = "only this cell of the plan; repeatable (all)"
    add("--only", metavar="CELL", action="append", default=[], help=cell)
    add("--disk", metavar="DEV", help="scratch disk; its data is lost")
    add("--journal-disk", metavar="DEV", help="second scratch disk, if needed")
    add("--wipe", action="store_true", help="erase a disk that carries data")
    add("--out", metavar="DIR", type=Path, help="new run directory (out/TIME-SCENARIO)")
    engine = "tracing engine (stap)"
    add("--engine", choices=tracer.CHOICES, default="stap", help=engine)
    delayer, known = f"what delays the disks ({registry.DEFAULT})", registry.REGISTRY
    add("--injector", choices=known, default=registry.DEFAULT, help=delayer)
    how = "how biodelay delays bios, instead of the rules' own mode"
    add("--mode", choices=HOLDING, help=how)
    built = "compiled parts (build/KERNEL_RELEASE, built if missing)"
    add("--build", metavar="DIR", type=Path, help=built)
    length = "length of the workload (the scenario's)"
    add("--duration-s", metavar="S", type=whole(1, MAX_DURATION_S), help=length)
    metal = "delay a disk of a machine that is not virtual"
    add("--allow-bare-metal", action="store_true", help=metal)
    steps = "format of the steps on stderr (text)"
    add("--progress", choices=MODES, default="text", help=steps)
    kernel = "with --check: refuse a scenario that is not known on that kernel"
    add("--kernel", metavar="RELEASE", help=kernel)
    only = parser.add_mutually_exclusive_group()
    for name, instead in {
        "--list": "list the scenarios and exit",
        "--list-variants": "list the scenario and its variants by name and exit",
        "--list-machine": "print what its machine must have, as JSON, and exit",
        "--check": "check the scenario file and exit",
        "--dry-run": "print the commands of the run and exit",
    }.items():
        only.add_argument(name, action="store_true", help=instead)
    return parser


def _list() -> int:
    for path in sorted(reading.SCENARIOS.glob("*.toml"), key=attrgetter("stem")):
        found, _ = reading.load(path)
        print(f"{found.name:20} {found.purpose}")
        if found.expect:
            chain = " > ".join(found.expect.chain) or "no stall"
            print(f"{'':20} must show: {chain}")
    return EXIT_COMPLETE


def _new_folder(out: Path | None, name: str) -> Path:
    """Make the run directory, or use an empty one. Raises UserError."""
    folder = out or TREE / "out" / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
        probe = folder / "manifest.json.new"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"{folder}: {error.strerror}; name another with --out"
        ) from None
    if taken:
        raise UserError(f"{folder} is not empty; name a new one with --out")
    return folder.resolve()


def _loaded(name: str, options: argparse.Namespace) -> tuple[Scenario, dict[str, Any]]:
    """Return the scenario and its TOML table, from a file or --command."""
    if options.command is None:
        return reading.load(reading.find(name))
    text = of_command.text(options)
    source = "--command"
    return reading.parse(text, source, name), reading.table_of(text, source)


def _run(options: argparse.Namespace) -> int:
    stop = Stop()
    stop.install()
    try:
        return _perform(options, stop)
    finally:
        stop.ignore()


def _perform(options: argparse.Namespace, stop: Stop) -> int:
    if options.mode and (options.plan or options.injector != registry.DEFAULT):
        raise UserError(f"--mode needs a SCENARIO and --injector {registry.DEFAULT}")
    if options.plan:
        return _series(options, stop)
    name, variant = variants.split(options.scenario or of_command.NAME)
    every, table = _loaded(name, options)
    found = variants.chosen(every, variant)
    table = variants.as_read(table, variant)
    if disk := replayed.rules(options):
        found, table = replayed.applied(found, disk), replayed.as_read(table, disk)
    found = modes.applied(found, options.mode)
    table = modes.as_read(table, options.mode)
    if options.list_variants:
        print("\n".join(map(partial(variants.label, name), variants.names(every))))
        return EXIT_COMPLETE
    if options.list_machine:
        print(json.dumps(dataclasses.asdict(found.machine)))
        return EXIT_COMPLETE
    registry.chosen(found, options.injector)  # may refuse the rules
    if options.check:
        if options.kernel and (outside := found.kernel.excludes(options.kernel)):
            remedy = "name another with --kernel; docs/install.md says how to build it"
            raise UserError(f"{found.name}: {outside}; {remedy}")
        print(f"{found.name}: {found.purpose}")
        return EXIT_COMPLETE
    if options.dry_run:
        dry_run.show(found, options, settings.built(options))
    prepared = settings.prepare(found, table, options, stop)
    if options.dry_run:
        return EXIT_COMPLETE
    label = "-".join(filter(None, (found.name, variant, options.mode)))
    run = Run(_new_folder(options.out, label), Progress(options.progress), stop)
    status = stages.carry_out(run, prepared)
    reason = f" ({run.manifest['reason']})" if run.manifest["reason"] else ""
    say(f"repro/run: {run.manifest['status']}{reason}: {run.out}")
    return status


def _command(options: argparse.Namespace) -> int:
    given = (options.scenario, options.command, options.plan)
    if not options.list and sum(one is not None for one in given) != 1:
        raise UserError("name a scenario; --list shows them; or give a --command")
    stray = None if options.command else of_command.stray(options)
    if stray:
        raise UserError(f"{stray} needs --command; a scenario's file has its own")
    if options.print:
        print(of_command.text(options), end="")
        return EXIT_COMPLETE
    return _list() if options.list else _run(options)


def main() -> int:
    return _parser().carry_out(_command)


def _series(options: argparse.Namespace, stop: Stop) -> int:
    """Run the unfinished cells of a plan in order; return the first status that is not
    0, else 0: the next cells would find what a failed one left behind. The caller goes
    on without that cell, on another machine.
    """
    left, only = plan.unfinished(options.plan), options.only
    cells = [row for row in left if row[0] in only or not only]
    for number, (name, file, out) in enumerate(cells, 1):
        stop.check()
        say(f"{number} of {len(cells)}: {name}")
        found, table = reading.load(file)
        prepared = settings.prepare(found, table, options, stop)
        if out.exists():
            shutil.rmtree(out)  # left by an interrupted machine
        one = Run(out.resolve(), Progress(options.progress), stop)
        status = stages.carry_out(one, prepared)
        if status != EXIT_COMPLETE:
            say(f"{name}: {one.manifest['status']} ({one.manifest['reason']})")
            return status
    return EXIT_COMPLETE
