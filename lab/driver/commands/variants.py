# SPDX-License-Identifier: GPL-2.0-only
"""variants: run a scenario and all its variants in one machine; print a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from driver import runs
from driver.machines import OUT, PREPARING, prepare
from driver.progress import Progress, Stage, StageError, StageLog
from driver.project import answer
from driver.runs import Request
from writestall_base import files
from writestall_base.errors import UserError
from writestall_base.folders import refuse_special

STAGES = (
    *PREPARING,
    Stage("runs", "see manifest.json in each run's folder"),
    Stage("explain", "a variant does not show what its scenario promises: see above"),
)
ENGINES = ("stap", "core", "both")
LIMIT_EACH_S = 240
LATEST, TABLE = "latest-variants", "variants.txt"
MOST_ROUNDS = 999  # repro/each


def _rounds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_ROUNDS:
        why = f"{text!r} is no number of rounds: write 1 to {MOST_ROUNDS}"
        raise argparse.ArgumentTypeError(why)
    return int(text)


def arguments(parser: argparse.ArgumentParser) -> None:
    runs.arguments(parser, "gc-log", ENGINES)
    what = "of each variant; several give intervals (1)"
    parser.add_argument("--rounds", type=_rounds, default=1, metavar="N", help=what)


def _run_all(
    log: StageLog,
    request: Request,
    rounds: int,
    names: list[str],
    folder: Path,
    built: str,
) -> None:
    """Run all in one machine, one after another."""
    inside = ["repro/each", OUT, str(rounds), *names, "--"]
    inside += request.run_arguments
    limit_s = runs.RUN_LIMIT_S + LIMIT_EACH_S * rounds * len(names)
    try:
        log.run(runs.run_command(request, folder, built, inside, limit_s))
    finally:
        runs.end(folder, LATEST)
    log.note = str(folder)


def _explain_all(log: StageLog, python: Path, folder: Path) -> str:
    """Write each run's answer and page, and the table of all to variants.txt."""
    misses = []
    refuse_special(folder)
    for run in sorted(path.parent for path in folder.glob("*/manifest.json")):
        text = runs.analyse(log, python, run, "explain", "--report")
        files.save_inside(run, "report.txt", text.encode())
        try:
            runs.analyse(log, python, run, "expect")
        except UserError as error:
            misses.append(f"{run.name}: {error}")
    table = runs.analyse(log, python, folder, "compare-variants")
    files.save_inside(folder, TABLE, table.encode())
    if misses:
        raise UserError("; ".join(misses))
    return f"a folder per variant in {folder}"


def main(args: argparse.Namespace) -> int:
    """Run all stages; print the table."""
    request = runs.read(args)
    if ":" in request.scenario:
        raise UserError(f"{request.scenario}: name the scenario without its variant")
    progress = Progress(STAGES, request.settings.verbose)
    out = request.settings.out
    folder, status = out / f"{request.run_name}-variants", 0
    try:
        extras = ("compare",) if args.rounds > 1 else ()  # for the intervals
        python, built = prepare(
            progress, request.settings, extras, *request.needs.build
        )
        in_guest = runs.begin(request, folder)
        listed = answer("repro/run", "--list-variants", request.scenario).split()
        names = [
            name.replace(request.scenario, in_guest.scenario, 1) for name in listed
        ]
        with progress.stage() as log:
            _run_all(log, request, args.rounds, names, folder, built)
        with progress.stage() as log:
            log.note = _explain_all(log, python, folder)
    except StageError as failed:
        status = failed.status
    if (table := folder / TABLE).exists():  # even when a variant failed
        print(f"\n{files.content(table).decode().rstrip()}\n")
        print(f"table:  {table}, also in {out / LATEST}; as data in variants.json")
    return status
