# SPDX-License-Identifier: GPL-2.0-only
"""lab: run a scenario in a machine, explain its stalls and check the answer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from driver import own_command, runs
from driver.machines import OUT, PREPARING, prepare
from driver.progress import Progress, Stage, StageLog
from driver.project import answer
from driver.runs import Request, analyse, analysed
from writestall_base import files
from writestall_base.errors import UserError

DEFAULT = "journal-buffer"
ENGINES = ("stap", "core", "both")
# How much of a recording came back.
FIDELITY = "fidelity.txt"
# `writestall check` of a run whose injector keeps no record.
NOTHING_TO_JUDGE_BY = 3
STAGES = (
    *PREPARING,
    Stage("run", "see manifest.json and console.log in its folder under out/"),
    Stage(
        "explain",
        "run it again with --verbose (make: V=1); make doctor names what is missing",
    ),
    Stage(
        "check",
        "the run does not show what its scenario promises, or the answer differs from"
        " the injector's record: do not trust it; on a busy host, --accel icount"
        " (make: ACCEL=icount) helps",
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    runs.arguments(parser, DEFAULT, ENGINES)
    own_command.arguments(parser)
    what = "explain only these calls, or groups of them: docs/events.md lists both"
    parser.add_argument("--call", metavar="C,C", help=what)


def _choosing(args: argparse.Namespace) -> list[str]:
    """Which calls explain is to show; refused at once where it refuses them."""
    chosen = [] if args.call is None else ["--call", args.call]
    if chosen:
        answer("writestall", "explain", *chosen, "--help")
    return chosen


def inside(request: Request) -> list[str]:
    """The scenario's command in the guest."""
    return ["repro/run", request.scenario, "--out", OUT, *request.run_arguments]


def _must_be_checked(run: Path, request: Request) -> bool:
    """Whether something was injected that was to stall a write, or did."""
    manifest = json.loads(files.content(run / "manifest.json"))
    expect = manifest["scenario"].get("expect") or {}
    wanted = expect.get("stalled_writes_min", 0)
    if request.mode or not expect:
        wanted = json.loads(files.content(run / "summary.json"))["stalls"]
    judged_by = manifest["injector"] or manifest.get("throttle_log")
    return wanted > 0 and judged_by is not None


def _check(log: StageLog, python: Path, run: Path, request: Request) -> str:
    """The verdict's last line; a scenario promises a chain for its own mode only."""
    verdict = "nothing that was explained stalled"
    manifest = json.loads(files.content(run / "manifest.json"))
    scenario = manifest["scenario"]
    if request.recorded:
        return _fidelity(log, python, run)
    if scenario.get("expect") and not request.mode:
        verdict = analyse(log, python, run, "expect")
    if _must_be_checked(run, request):
        good = NOTHING_TO_JUDGE_BY
        verdict = analyse(log, python, run, "check", good=good)
    return verdict.strip().splitlines()[-1]


def _fidelity(log: StageLog, python: Path, run: Path) -> str:
    """How much of a recorded disk came back; raise UserError where it is too little."""
    done = analysed(log, python, "expect", str(run))
    files.save_inside(run, FIDELITY, done.stdout.encode())
    figures = (done.stdout or done.stderr).strip().splitlines()
    heads = [line for line in figures if not line.startswith(" ")]
    if done.returncode:
        raise UserError("; ".join(heads))
    return "; ".join(heads)


def main(args: argparse.Namespace) -> int:
    """Run all stages; print the answer and where the rest of it is."""
    request = own_command.read(args)
    chosen = _choosing(args)
    progress = Progress(STAGES, request.settings.verbose)
    out = request.settings.out
    run = out / request.run_name
    python, artefacts = prepare(progress, request.settings, (), *request.needs.build)
    in_guest = runs.begin(request, run)
    with progress.stage() as log:
        command = inside(in_guest)
        limit_s = request.limit_s
        try:
            runs.keep_series(log, python, request, run)
            log.run(runs.run_command(request, run, artefacts, command, limit_s))
        finally:
            runs.end(run)
        log.note = str(run)
    with progress.stage() as log:
        explained = analyse(log, python, run, "explain", "--report", *chosen)
    files.save_inside(run, "report.txt", explained.encode())
    try:
        with progress.stage() as log:
            log.note = _check(log, python, run, request)
    finally:  # a verdict that failed stands before the answer, and hides nothing
        print(f"\n{explained.rstrip()}\n")
        if (run / FIDELITY).is_file():
            print(files.content(run / FIDELITY).decode())
        print(f"report: {run / 'report.txt'}, also in {out / 'latest'}")
        print(f"page:   {run / 'report.html'}")
    return 0
