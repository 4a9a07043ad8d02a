# SPDX-License-Identifier: GPL-2.0-only
"""compare: file systems, a disk and a workload to a report, resumable.

All runs share a machine while all goes well: booting takes an emulated one half as
long as a run does. What fails ends its machine, and the next one goes on behind it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from driver import doctor
from driver.lab import (
    PREPARING,
    Records,
    choose_engine,
    machine_command,
    prepare,
    told,
    tool,
)
from driver.progress import Progress, Stage, StageError, StageLog
from driver.project import OUT, accel, cache, qemu, recipe
from machine.errors import UserError

# A run's workload is a part of its time under TCG.
BESIDE_S = 120
# A run that failed is tried once more, on a fresh machine; an option whose first
# run failed twice does not work here, and its other rounds are left alone.
MOST_TRIES = 2
COMPARE_STAGES = (
    *PREPARING,
    Stage("plan", "correct what the line names"),
    Stage("runs", "make compare again goes on where it was; machines/ has consoles"),
    Stage("report", "run it again with V=1 to see everything"),
)
ENGINES = ("stap", "bpftrace")
SLO = re.compile(r"\d+(\.\d+)?(us|ms|s)")
# Environment variable, repro/plan's option.
PLANNED = {
    "PROFILE": "--profile",
    "WORKLOAD": "--workload",
    "FS": "--fs",
    "ROUNDS": "--rounds",
    "DURATION": "--duration-s",
    "AGED": "--aged",
    "SEED": "--seed",
}


@dataclass(frozen=True)
class Request:
    """What `make compare` was asked for, as environment variables say it."""

    kernel: str
    engine: str
    slo: str
    planned: tuple[str, ...]
    folder: Path

    @staticmethod
    def from_environment() -> Request:
        """Read the variables; refuse what does not exist, at once."""
        known = recipe.load(os.environ.get("KERNEL"))
        engine = choose_engine(known, ENGINES)
        accel.remembered()  # refuses an unknown ACCEL
        words = {name: os.environ.get(name) or "" for name in PLANNED}
        pairs = [(PLANNED[name], word) for name, word in words.items() if word]
        planned = tuple(word for pair in pairs for word in pair)
        _plan(planned)
        disk = Path(words["PROFILE"] or "dying-hdd").stem
        work = Path(words["WORKLOAD"] or "appenders").stem
        name = os.environ.get("NAME") or f"{disk}-{work}-{known.kernel}"
        room = doctor.cache_room()
        if not room.good:
            raise UserError(f"too little {room.what}: {room.reason}; {room.remedy}")
        slo = os.environ.get("SLO") or "65ms"
        if not SLO.fullmatch(slo):
            raise UserError(f"SLO={slo}: want a time with its unit, like 65ms or 1.5s")
        return Request(known.kernel, engine, slo, planned, OUT / "compare" / name)


def _plan(arguments: tuple[str, ...]) -> str:
    """Call repro/plan; what it refuses is refused in its words."""
    done = subprocess.run(
        tool("repro/plan", *arguments), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UserError((done.stderr.strip().splitlines() or ["repro/plan failed"])[-1])
    return done.stdout.strip()


def _machine(
    request: Request, artefacts: str, number: int, skip: list[str], limit_s: int
) -> list[str]:
    """The command that boots a machine for the runs that are left."""
    folder = request.folder
    inside = ["repro/run", "--plan", "/mnt/out", "--build", "/mnt/build", "--wipe"]
    inside += ["--disk", "/dev/vdb", "--journal-disk", "/dev/sda"]
    inside += ["--engine", request.engine, "--progress", "none"]
    inside += [word for name in skip for word in ("--skip", name)]
    machines = folder / "machines"
    console, result = machines / f"{number}.console.log", machines / f"{number}.json"
    records = Records(console, result, limit_s)
    return machine_command(request.kernel, folder, artefacts, records, inside)


def _left(folder: Path, skip: set[str]) -> list[str]:
    """The cells that are neither complete nor given up, in the order of running."""
    return [name for name in _plan((str(folder), "--left")).split() if name not in skip]


def _runs(log: StageLog, request: Request, artefacts: str) -> str:
    """Machines until nothing is left to run; what came of it, in a line."""
    folder = request.folder
    duration_s = json.loads((folder / "plan.json").read_text())["duration_s"]
    (folder / "machines").mkdir(exist_ok=True)
    _note_host(folder / "machines/host.json")
    tries: Counter[str] = Counter()
    skip: set[str] = set()
    while left := _left(folder, skip):
        number = 1 + len(list((folder / "machines").glob("*.console.log")))
        limit_s = len(left) * (duration_s + BESIDE_S) + BESIDE_S
        command = _machine(request, artefacts, number, sorted(skip), limit_s)
        # The manifests, and the machine's own verdict, say what failed.
        with suppress(UserError):
            log.run(command)
        if still := _left(folder, skip):
            _give_up(still, tries, skip)
    count = len(skip)
    return f"{folder}" + (f"; {count} runs failed" if count else "")


def _note_host(path: Path) -> None:
    """What all machines are; one that is interrupted leaves no verdict of its own."""
    choice = accel.remembered()
    known = {"qemu": qemu.version(recipe.load())}
    if choice:
        known |= {"accel": choice.name, "accel_reason": choice.reason}
    path.write_text(json.dumps(known, indent=2) + "\n")


def _give_up(still: list[str], tries: Counter[str], skip: set[str]) -> None:
    """Count the failure of the first that is left; after two, its option's as well."""
    first = still[0]
    tries[first] += 1
    if tries[first] >= MOST_TRIES:
        option = first.rpartition("/")[0]
        skip |= {name for name in still if name.rpartition("/")[0] == option}


def main() -> int:
    """Plan, run what is not finished, report."""
    request = Request.from_environment()
    progress = Progress(COMPARE_STAGES, cache.root() / "logs")
    folder = request.folder
    try:
        python, artefacts = prepare(progress, request.kernel, ("compare",))
        with progress.stage() as log:
            folder.mkdir(parents=True, exist_ok=True)
            inputs = f"{Path(artefacts).name} {request.engine}"
            log.note = _plan((str(folder), "--inputs", inputs, *request.planned))
        with progress.stage() as log:
            log.note = _runs(log, request, artefacts)
        with progress.stage() as log:
            answer = _report(log, python, request)
            log.note = str(folder / "compare.html")
    except StageError as failed:
        return failed.status
    print(f"\n{answer.rstrip()}\n")
    for name in ("compare.txt", "compare.html", "compare.json"):
        print(f"{name}: {folder / name}", file=sys.stderr)
    return 0


def _report(log: StageLog, python: Path, request: Request) -> str:
    """The report in its three forms; the text."""
    where = (str(request.folder), "--slo", request.slo, "--write")
    done = told(log, python, "compare-options", *where)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise UserError(lines[-1] if lines else "compare-options failed")
    return done.stdout
