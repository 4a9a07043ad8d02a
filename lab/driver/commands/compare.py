# SPDX-License-Identifier: GPL-2.0-only
"""compare: compare file systems on one disk with one workload; resumable."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from driver import cluster, kernels, losses, recorded, rounds, runs, settings
from driver.cluster import Cluster
from driver.commands import crash, job
from driver.kernels import Kernel
from driver.machines import PREPARING, Needs, prepare
from driver.planned import Planned
from driver.progress import Countdown, Progress, Stage, StageLog
from driver.project import answer
from driver.recorded import Recording
from driver.settings import Settings
from machine import accel, qemu, recipe
from writestall_base import files, plans
from writestall_base.command_line import whole
from writestall_base.errors import UserError
from writestall_base.folders import refuse_special

STAGES = (
    *PREPARING,
    Stage("plan", "correct what the line names"),
    Stage("runs", "the same command resumes; machines/ has the consoles"),
    Stage("cuts", "crash/ has each machine's console"),
    Stage("report", "run it again with --verbose (make: V=1)"),
)
ENGINES = ("stap", "core")
# compare-options: all options pass or none is judged, one fails, one is open.
DECIDED = (0, 1, 3)
# Option, repro/plan's option, metavar and help.
PLANNED = {
    "profile": ("--profile", "DISK", "a disk of repro/profiles (dying-hdd)"),
    "workload": ("--workload", "SCENARIO", "a scenario (appenders)"),
    "fs": ("--fs", "A,B", "file systems or options of repro/matrix.toml (all)"),
    "rounds": ("--rounds", "N", "of each option (8)"),
    "duration": ("--duration-s", "S", "of a run, seconds (12)"),
    "aged": ("--aged", "PERCENT", "age the file systems until so much is used (0)"),
    "load": ("--load", "A,B", "percent of the workload's own load (100)"),
    "severity": ("--severity", "A,B", "the disk's delays by these factors: 0.5,1,2"),
    "seed": ("--seed", "N", "of the order of runs (1)"),
    "baseline": ("--baseline", "NAME", "what the others are compared with (the first)"),
    "slo": ("--slo", "TIME", "objective of a request's latency (65ms)"),
    "by": ("--by", "WHAT", "what decides: over-slo, stall, p99.9, ... (over-slo)"),
    "objective": ("--objective", "RULE", "judge options by it: 'over 65ms < 0.1%%'"),
    "margin": ("--margin", "FACTOR", "judge options by the baseline: 1.2x"),
    "budget": ("--budget", "TIME", "decide as early as possible within it: 2h, 90min"),
    "effect": ("--effect", "FACTOR", "smallest difference to be found (1.3x)"),
}
# Options beside them, and their defaults.
BESIDE: dict[str, Any] = {
    "budget": None,
    "trial": False,
    "engine": ENGINES[0],
    "accel": None,
    "cut": crash.SECONDS,
    "cuts": 1,
    "volatile_cache": False,
    "jobs": None,
    "executor": None,
}
FLAGS = {
    "may_lose": (
        "--may-lose",
        "pass options that lost data that fsync(2) had confirmed",
    ),
    "trial": ("--trial", "run also a plan that cannot decide anything"),
}


@dataclass(frozen=True)
class Request:
    """The disk, the workload, the options, and how they are compared.

    `kernels` have their compiled parts once they are built; the baseline's is first.
    """

    kernels: tuple[Kernel, ...]
    engine: str
    cuts: losses.Asked
    chosen: tuple[str, ...]  # repro/plan's options, but for the kernels
    recording: Recording | None
    folder: Path
    cluster: Cluster | None
    needs: Needs

    @property
    def settings(self) -> Settings:
        """What is the same with all kernels."""
        return self.kernels[0].settings

    @property
    def known(self) -> tuple[str, ...]:
        """repro/plan's options, as far as they are known before anything is built."""
        return *kernels.words(self.kernels, self.engine), *self.chosen

    @property
    def planned(self) -> tuple[str, ...]:
        """repro/plan's options."""
        return *self.known, *(
            self.recording.words(self.folder) if self.recording else ()
        )

    @property
    def options(self) -> str:
        """The options of a job of this comparison (driver.commands.job)."""
        given = ",".join(str(one.settings.kernel) for one in self.kernels)
        accel = f"--accel {self.settings.accel} --engine {self.engine}"
        return f"--kernel {shlex.quote(given)} {accel} {self.cuts.words}"

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras of pyproject.toml that its Python needs."""
        return self.cluster.extras if self.cluster else ("compare",)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    for name, (_, metavar, text) in PLANNED.items():
        add(f"--{name}", metavar=metavar, help=text)
    for option, text in FLAGS.values():
        add(option, action="store_true", help=text)
    losses.arguments(parser)
    name = "of the folder below out/compare (PROFILE-WORKLOAD-KERNEL)"
    add("--name", metavar="NAME", help=name)
    add("--list", action="store_true", help="list disks and options, and exit")
    add("--dry-run", action="store_true", help="print runs and minutes, and exit")
    add("--jobs", type=whole(), metavar="N", help="machines at a time (1)")
    add("--executor", choices=cluster.EXECUTORS, help="what runs the machines (local)")
    recorded.arguments(parser)
    settings.add_engine(parser, ENGINES)
    settings.arguments(parser, kernels.WHAT)


def read(args: argparse.Namespace) -> Request:
    """The request; refuse at once what does not exist."""
    found = kernels.read(args)
    for kernel in found:
        args.engine = settings.engine(args.engine, kernel.settings.kernel)
    recording = Recording.asked(args)
    given = [(row[0], getattr(args, name)) for name, row in PLANNED.items()]
    chosen = tuple(word for pair in given if pair[1] for word in pair)
    chosen += tuple(row[0] for name, row in FLAGS.items() if getattr(args, name))
    names = [*_load(args, recording), *(kernel.name for kernel in found)]
    name = args.name or "-".join([*names, *_differing(args)])
    settings.check_room()
    spread = Cluster.wanted(args.jobs, args.executor)
    folder = found[0].settings.out / "compare" / name
    needs = Needs()
    if not (recording and recording.makes_calls):
        work = args.workload or "appenders"
        needs = Needs.of(json.loads(answer("repro/run", "--list-machine", work)))
    chosen += ("--beside", " ".join(_beside(args, len(found))))
    how = (args.engine, losses.Asked.of(args), chosen)
    request = Request(found, *how, recording, folder, spread, needs)
    answer("repro/plan", *request.known)
    return request


def _load(args: argparse.Namespace, recording: Recording | None) -> list[str]:
    """What the folder is called by: the disk and the workload."""
    work = [Path(args.workload or "appenders").stem]
    if recording is None:
        return [Path(args.profile or "dying-hdd").stem, *work]
    return [recording.run.name, *([] if recording.makes_calls else work)]


def _beside(args: argparse.Namespace, kernels: int) -> Iterator[str]:
    """The words of this command that no other key of a plan holds."""
    if args.kernel and kernels == 1:
        yield shlex.join(("--kernel", args.kernel))
    for name, default in BESIDE.items():
        if (value := getattr(args, name)) != default:
            option = f"--{name.replace('_', '-')}"
            yield option if value is True else shlex.join((option, str(value)))


def _differing(args: argparse.Namespace) -> Iterator[str]:
    """What a folder's name says of runs that are not those of the defaults."""
    for name in ("aged", "duration", "seed"):
        if value := getattr(args, name):
            yield f"{name}{value}"


def _until_decided(log: StageLog, python: Path, request: Request) -> str:
    """Run the rounds of the plan's first look, then those of the next one, until the
    comparison is decided; return a line about the result."""
    note = _runs(log, request)
    plan = plans.read(request.folder)
    for number in plan["looks"]:
        if number <= plan["rounds"]:
            continue
        where = (str(request.folder), "--json")
        done = runs.analysed(log, python, "compare-options", *where)
        if done.returncode not in DECIDED or json.loads(done.stdout)["decided"]:
            break
        given = (*request.planned, "--rounds", str(number))
        answer("repro/plan", "--out", str(request.folder), *given)
        note = _runs(log, request)
    return note


def _runs(log: StageLog, request: Request) -> str:
    """Boot machines until nothing is left to run; return a line about the result."""
    planned = Planned(request.folder, request.settings, request.engine)
    log.countdown = Countdown("runs", lambda: len(planned.left()))
    if request.cluster:
        failed = _spread(log, request, planned, request.cluster)
    else:
        failed = rounds.run(log, planned, request.kernels)
    return f"{request.folder}" + (f"; {failed} runs failed" if failed else "")


def _spread(log: StageLog, request: Request, planned: Planned, spread: Cluster) -> int:
    """Have the rounds that are left run as jobs; return how many runs failed.

    A job has tried its failed runs twice; those that the host disturbed are repeated.
    """
    failed: set[str] = set()
    while left := set(planned.left(repeat=True)) - failed:
        of = planned.rounds
        numbers = sorted({of[name] for name in left})
        spread.run(log, planned, job.ROUND, numbers, request.options)
        failed |= set(planned.left())
    return len(failed)


def _cuts(log: StageLog, request: Request) -> str:
    """Cut machines; return a line about the result."""
    folder, asked = request.folder, request.cuts
    if not asked.seconds:
        return "skipped: --cut 0"
    losses.prepare(folder, request.kernels, asked)
    if not (left := losses.left(folder, asked)):
        return losses.result(folder, asked)
    log.countdown = Countdown("rounds of cuts", lambda: len(losses.left(folder, asked)))
    if request.cluster:
        planned = Planned(folder, request.settings, request.engine)
        request.cluster.run(log, planned, job.CUTS, left, request.options)
    else:
        losses.make(log, folder, request.kernels, asked, left)
    return losses.result(folder, asked)


def _note_host(folder: Path, settings: Settings) -> None:
    """Record what all machines are: an interrupted one leaves no verdict."""
    choice = accel.remembered(settings.accel)
    known = {"qemu": qemu.version(recipe.load())}
    if choice:
        known |= {"accel": choice.name, "accel_reason": choice.reason}
    text = json.dumps(known, indent=2) + "\n"
    files.save_inside(folder, "host.json", text.encode())


def main(args: argparse.Namespace) -> int:
    """Plan, run what is not finished, report."""
    if args.list:
        print(answer("repro/plan", "--list"))
        return 0
    request = read(args)
    if args.dry_run:
        jobs = ("--jobs", str(args.jobs)) if args.jobs else ()
        print(answer("repro/plan", *request.known, *request.cuts.price, *jobs))
        return 0
    progress = Progress(STAGES, request.settings.verbose)
    folder = request.folder
    python, _ = prepare(
        progress,
        request.settings,
        request.extras,
        *request.needs.build,
        kernels=list(dict.fromkeys(one.settings.kernel for one in request.kernels)),
    )
    request = replace(request, kernels=kernels.built(request.kernels))
    with progress.stage() as log:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_special(folder)  # guests of an earlier call could write there
        if request.recording:
            request.recording.keep(folder, partial(runs.analysed, log, python))
        made = answer("repro/plan", "--out", str(folder), *request.planned)
        log.note = f"{made}, {request.settings.accel}"
    with progress.stage() as log:
        (folder / "machines").mkdir(exist_ok=True)
        _note_host(folder / "machines", request.settings)
        log.note = _until_decided(log, python, request)
    with progress.stage() as log:
        log.note = _cuts(log, request)
    with progress.stage() as log:
        status, text = _report(log, python, request)
        log.note = str(folder / "compare.html")
    print(f"\n{text.rstrip()}\n")
    for name in ("compare.txt", "compare.html", "compare.json"):
        print(f"{name}: {folder / name}", file=sys.stderr)
    return status


def _report(log: StageLog, python: Path, request: Request) -> tuple[int, str]:
    """The verdicts' exit status, and the report's text; its other forms are written."""
    done = runs.analysed(log, python, "compare-options", str(request.folder), "--write")
    if done.returncode not in DECIDED:
        lines = done.stderr.strip().splitlines()
        raise UserError(lines[-1] if lines else "compare-options failed")
    return done.returncode, done.stdout
