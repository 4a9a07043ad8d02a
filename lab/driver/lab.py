# SPDX-License-Identifier: GPL-2.0-only
"""lab: a scenario, a kernel and an engine to an explained stall."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess

from driver import doctor, setup
from driver.progress import Progress, Stage, StageError, StageLog
from driver.project import OUT, PROJECT, accel, cache, image, recipe
from machine.commands import ends_with_us
from machine.errors import UserError

ENGINES = ("stap", "bpftrace", "both")
DEFAULT_INJECTOR = "biodelay"
# `writestall check` of a run whose injector keeps no record.
NOTHING_TO_JUDGE_BY = 3
# A run may take its workload's time and this much for all else under TCG.
RUN_LIMIT_S = 600
# What compares has machines whose clock no busy host disturbs (vm/machine/qemu.py).
COUNTING = "icount"
FULL = "--full"  # the image with the tools that only measurements need
AGAIN = "run it again with V=1 to see everything; make doctor names what is missing"
# What every target does before its first machine boots: prepare().
PREPARING = (
    Stage("set-up", "install what it names, then run this again"),
    Stage("qemu", "check that the Debian mirror can be reached: make doctor"),
    Stage("image", "check the mirror and the disk space: make doctor"),
    Stage("accelerator", "force one with ACCEL=tcg"),
    Stage("compile", "the first error in the log is the one to mend"),
)
STAGES = (
    *PREPARING,
    Stage(
        "run", "its folder under out/ says how far it came: manifest.json, console.log"
    ),
    Stage("explain", AGAIN),
    Stage(
        "check",
        "the run does not show what its scenario promises, or the injector's record"
        " says otherwise than the answer: do not trust it; where other work keeps an"
        " emulated machine from its CPUs, ACCEL=icount helps",
    ),
)


def choose_engine(known: recipe.Recipe, engines: tuple[str, ...]) -> str:
    """ENGINE, or the first of these; refuses one that the kernel cannot have."""
    engine = os.environ.get("ENGINE") or engines[0]
    if engine not in engines:
        raise UserError(f"unknown ENGINE {engine!r}: use {', '.join(engines)}")
    if engine != "stap" and not known.bpftrace:
        raise UserError(
            f"bpftrace does not serve for kernel {known.kernel}: use ENGINE=stap"
        )
    return engine


def whole(name: str, default: int, least: int = 1) -> str:
    """A whole number of the environment; `least` is 1 or 0."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise UserError(f"{name}={text}: want a whole number{' above 0' * least}")
    return text


@dataclass(frozen=True)
class Request:
    """What `make lab` was asked for, as environment variables say it."""

    scenario: str
    kernel: str
    engine: str
    injector: str
    mode: str

    @staticmethod
    def from_environment(default: str = "journal-buffer") -> Request:
        """Read the variables; refuse what does not exist or cannot be, at once."""
        known = recipe.load(os.environ.get("KERNEL"))
        engine = choose_engine(known, ENGINES)
        accel.remembered()  # refuses an unknown ACCEL
        scenario = os.environ.get("SCENARIO") or default
        injector = os.environ.get("INJECTOR") or DEFAULT_INJECTOR
        mode = os.environ.get("MODE") or ""
        answer("repro/run", "--check", scenario, *_injecting(injector, mode))
        room = doctor.cache_room()
        if not room.good:
            raise UserError(f"too little {room.what}: {room.reason}; {room.remedy}")
        return Request(scenario, known.kernel, engine, injector, mode)

    @property
    def run_name(self) -> str:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path, _, variant = self.scenario.partition(":")
        words = [Path(path).stem, variant, self.kernel, self.engine]
        words += [self.injector] * (self.injector != DEFAULT_INJECTOR)
        words += [self.mode]
        return "-".join([stamp, *filter(None, words)])


def tool(path: str, *arguments: str) -> list[str]:
    """The command line of one of the project's own programs."""
    return [sys.executable, str(PROJECT / path), *arguments]


def answer(path: str, *arguments: str) -> str:
    """What one of our programs prints; what it refuses is refused in its words."""
    command = tool(path, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError((done.stderr.strip().splitlines() or [f"{path} failed"])[-1])
    return done.stdout.strip()


@dataclass(frozen=True)
class Records:
    """Where a machine's console and verdict go, and how long it may take."""

    console: Path
    result: Path
    limit_s: int


def run_arguments(request: Request) -> list[str]:
    """What every repro/run in the machine is told."""
    common = ["--disk", "/dev/vdb", "--journal-disk", "/dev/sda"]
    common += ["--engine", request.engine]
    common += _injecting(request.injector, request.mode)
    return [*common, "--build", "/mnt/build"]


def _injecting(injector: str, mode: str) -> list[str]:
    """What slows the disk; an empty mode is the scenario's own."""
    return ["--injector", injector, *(["--mode", mode] if mode else [])]


def inside(request: Request, run: Path) -> list[str]:
    """The scenario's command as the machine sees it."""
    out = f"/mnt/out/{run.name}"
    return ["repro/run", request.scenario, "--out", out, *run_arguments(request)]


def machine_command(
    kernel: str,
    out: Path,
    artefacts: str,
    records: Records,
    command: list[str],
    *more: str,
) -> list[str]:
    """The command that runs another in the machine; it ends with us.

    There /mnt/out is the folder `out`, /mnt/build the compiled parts; `more` goes to
    vm/run.
    """
    machine = tool("vm/run", "--kernel", kernel, *more)
    machine += ["--timeout", str(records.limit_s)]
    machine += ["--share", f"{out}:/mnt/out"]
    machine += ["--share", f"{artefacts}:/mnt/build:ro"]
    machine += ["--console", str(records.console), "--result", str(records.result)]
    # A task that biodelay holds is held on purpose; so is who waits for it.
    machine += ["--excuse", r"\[biodelay\]"]
    return ends_with_us(signal.SIGTERM, [*machine, "--", *command])


def run_command(
    request: Request, run: Path, artefacts: str, command: list[str], limit_s: int
) -> list[str]:
    """The machine of one run, whose own records go aside until it is over."""
    place = aside(run)
    records = Records(place / "console.log", place / "machine.json", limit_s)
    return machine_command(request.kernel, run.parent, artefacts, records, command)


def point_latest(run: Path, name: str = "latest") -> None:
    """Make out/latest name this run, in one rename."""
    link = run.parent / f".latest-{os.getpid()}"
    link.symlink_to(run.name)
    link.replace(run.parent / name)


def aside(run: Path) -> Path:
    """Where the machine's console and verdict go until the run is over."""
    return run.with_name(f".{run.name}")


def begin(request: Request, run: Path) -> Request:
    """Make aside(run); the same request with the scenario's name as the machine has it.

    The machine sees the checkout and out/: a scenario of any other place is copied to
    the run's own files.
    """
    aside(run).mkdir(parents=True)
    path, colon, variant = request.scenario.partition(":")
    if not path.endswith(".toml"):
        return request
    copied = shutil.copy(path, aside(run))
    there = f"/mnt/out/{aside(run).name}/{Path(copied).name}"
    return replace(request, scenario=f"{there}{colon}{variant}")


def add_machine(run: Path) -> None:
    """Put the machine's own files into the run, its verdict in the manifest."""
    run.mkdir(exist_ok=True)
    for file in aside(run).iterdir():
        file.replace(run / file.name)
    aside(run).rmdir()
    manifest, machine = run / "manifest.json", run / "machine.json"
    if manifest.exists() and machine.exists():
        verdict = {"machine": json.loads(machine.read_text())}
        part = run / "manifest.json.part"
        both = json.loads(manifest.read_text()) | verdict
        part.write_text(json.dumps(both, indent=2) + "\n")
        part.replace(manifest)


Calls = tuple[tuple[str, ...], ...]  # of our own programs, beside each other


def run_tools(progress: Progress, stages: Iterable[Calls]) -> str:
    """One stage after the other; returns the last line of the last one."""
    for calls in stages:
        with progress.stage() as log:
            log.run(*(tool(*call) for call in calls))
            log.note = log.last_line()
    return log.note


def machine_parts(kernels: Sequence[str], *image: str) -> tuple[Calls, ...]:
    """What makes the machine's parts: a stage each but the set-up in PREPARING."""
    parts = (*image, "tree", "disk", "kernels")
    return (
        (("vm/build", "qemu"),),
        tuple(("vm/build", "-k", name, *parts) for name in kernels),
        (("vm/build", "accel"),),
        tuple(("lab/build", "-k", name) for name in kernels),
    )


def prepare(
    progress: Progress, kernel: str, extras: tuple[str, ...] = (), *image: str
) -> tuple[Path, str]:
    """Everything before a run: the analysis' Python, with extras, and the artefacts."""
    with progress.stage() as log:
        log.note = setup.packages(("lab",))
        python = setup.python(extras)
    return python, run_tools(progress, machine_parts((kernel,), *image))


def measure_by(kernel: str, name: str = COUNTING) -> str:
    """From here on, machines that would be emulated have this accelerator.

    Returns the one they have.
    """
    known = recipe.load(kernel)
    os.environ["ACCEL"] = accel.counting(known, image.kernel(known), name)
    return os.environ["ACCEL"]


def told(log: StageLog, python: Path, *arguments: str) -> CompletedProcess[str]:
    """What a writestall command said, into the log as well; any status."""
    done = subprocess.run(
        setup.writestall(python, *arguments),
        capture_output=True,
        text=True,
        check=False,
    )
    with log.path.open("a") as file:
        file.write(done.stdout + done.stderr)
    return done


def analyse(
    log: StageLog, python: Path, run: Path, *arguments: str, good: int = 0
) -> str:
    """Run one writestall command on the run; returns what it printed.

    `good` is another status than 0 with which it may end.
    """
    done = told(log, python, *arguments, str(run))
    if done.returncode not in (0, good):
        raise UserError(f"{' '.join(arguments)} ended with status {done.returncode}")
    return done.stdout


def _to_be_checked(run: Path, request: Request) -> bool:
    """Whether something was injected that was to stall a write, or did."""
    manifest = json.loads((run / "manifest.json").read_text())
    wanted = manifest["scenario"]["expect"]["stalled_writes_min"]
    if request.mode:
        wanted = json.loads((run / "summary.json").read_text())["stalls"]
    return wanted > 0 and manifest["injector"] is not None


def _judged(log: StageLog, python: Path, run: Path, request: Request) -> str:
    """The verdict's last line; a chain is promised for the scenario's own mode."""
    verdict = "nothing stalled"
    if not request.mode:
        verdict = analyse(log, python, run, "expect")
    if _to_be_checked(run, request):
        good = NOTHING_TO_JUDGE_BY
        verdict = analyse(log, python, run, "check", good=good)
    return verdict.strip().splitlines()[-1]


def main() -> int:
    """Run all stages; print the answer and where the rest of it is."""
    request = Request.from_environment()
    progress = Progress(STAGES, cache.root() / "logs")
    run = OUT / request.run_name
    try:
        python, artefacts = prepare(progress, request.kernel)
        brought = begin(request, run)
        with progress.stage() as log:
            try:
                command = inside(brought, run)
                log.run(run_command(request, run, artefacts, command, RUN_LIMIT_S))
            finally:
                add_machine(run)
                point_latest(run)
            log.note = str(run)
        with progress.stage() as log:
            answer = analyse(log, python, run, "explain", "--report")
        with progress.stage() as log:
            log.note = _judged(log, python, run, request)
    except StageError as failed:
        return failed.status
    (run / "report.txt").write_text(answer)
    print(f"\n{answer.rstrip()}\n")
    print(f"report: {run / 'report.txt'}, also in {OUT / 'latest'}")
    print(f"page:   {run / 'report.html'}")
    return 0
