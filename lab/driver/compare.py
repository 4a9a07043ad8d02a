# SPDX-License-Identifier: GPL-2.0-only
"""compare: file systems, a disk and a workload to a report, resumable.

All runs share a machine while all goes well: booting takes an emulated one half as
long as a run does. What fails ends its machine, and the next one goes on behind it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import cells, cluster, crash, doctor
from driver.cluster import Cluster
from driver.lab import (
    PREPARING,
    answer,
    choose_engine,
    measure_by,
    prepare,
    told,
    whole,
)
from driver.progress import Progress, Stage, StageError, StageLog
from driver.project import OUT, accel, cache, qemu, recipe
from machine.errors import UserError

# A run that failed is tried once more, on a fresh machine; an option whose first
# run failed twice does not work here, and its other rounds are left alone.
MOST_TRIES = 2
COMPARE_STAGES = (
    *PREPARING,
    Stage("plan", "correct what the line names"),
    Stage("runs", "make compare again goes on where it was; machines/ has consoles"),
    Stage("cuts", "crash/ has each machine's console"),
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
    "LOAD": "--load",
    "SEED": "--seed",
}


@dataclass(frozen=True)
class Request:
    """What `make compare` was asked for, as environment variables say it."""

    kernel: str
    engine: str
    slo: str
    cut_s: str
    planned: tuple[str, ...]
    folder: Path
    cluster: Cluster | None

    @property
    def extras(self) -> tuple[str, ...]:
        """Groups of pyproject.toml that its Python needs."""
        return self.cluster.extras if self.cluster else ("compare",)

    @staticmethod
    def from_environment() -> Request:
        """Read the variables; refuse what does not exist, at once."""
        known = recipe.load(os.environ.get("KERNEL"))
        engine = choose_engine(known, ENGINES)
        accel.remembered()  # refuses an unknown ACCEL
        words = {name: os.environ.get(name) or "" for name in PLANNED}
        pairs = [(PLANNED[name], word) for name, word in words.items() if word]
        planned = tuple(word for pair in pairs for word in pair)
        answer("repro/plan", *planned)
        disk = Path(words["PROFILE"] or "dying-hdd").stem
        work = Path(words["WORKLOAD"] or "appenders").stem
        name = os.environ.get("NAME") or f"{disk}-{work}-{known.kernel}"
        room = doctor.cache_room()
        if not room.good:
            raise UserError(f"too little {room.what}: {room.reason}; {room.remedy}")
        slo = os.environ.get("SLO") or "65ms"
        if not SLO.fullmatch(slo):
            raise UserError(f"SLO={slo}: want a time with its unit, like 65ms or 1.5s")
        cut_s = whole("CUT", crash.SECONDS, least=0)
        folder = OUT / "compare" / name
        spread = Cluster.from_environment()
        return Request(known.kernel, engine, slo, cut_s, planned, folder, spread)


def _left(folder: Path, skip: set[str]) -> list[str]:
    """The cells that are neither complete nor given up, in the order of running."""
    return [name for name in cells.left(folder) if name not in skip]


def _runs(log: StageLog, request: Request, artefacts: str) -> str:
    """Machines until nothing is left to run; what came of it, in a line."""
    folder = request.folder
    where = (folder, request.kernel, request.engine)
    if request.cluster:
        cluster.run(log, where, request.cluster)
        return _told(folder, len(cells.left(folder)))
    tries: Counter[str] = Counter()
    skip: set[str] = set()
    while left := _left(folder, skip):
        number = 1 + len(list((folder / "machines").glob("*.console.log")))
        command = cells.machine(where, str(number), left, artefacts)
        # The manifests, and the machine's own verdict, say what failed.
        with suppress(UserError):
            log.run(command)
        if still := _left(folder, skip):
            _give_up(still, tries, skip)
    return _told(folder, len(skip))


def _told(folder: Path, failed: int) -> str:
    return f"{folder}" + (f"; {failed} runs failed" if failed else "")


def _cuts(log: StageLog, request: Request, artefacts: str) -> str:
    """Show what each option with a disk keeps in a cut; what came of it, in a line.

    The disk is the comparison's own, as its first round has it. What an earlier call
    showed with the same programs, disk and time stays.
    """
    if not int(request.cut_s):
        return "left out, as CUT=0 asks"
    folder = request.folder / "crash"
    folder.mkdir(exist_ok=True)
    plan = json.loads((request.folder / "plan.json").read_text())
    disk = json.dumps([plan["profile"], plan["workload"].get("sysctl")])
    inputs, known = f"{artefacts} {request.cut_s} {disk}\n", folder / "inputs"
    if not known.exists() or known.read_text() != inputs:
        for old in folder.glob("*.json"):
            old.unlink()
        known.write_text(inputs)
    scenarios = _first_round(request.folder, plan)
    cut = crash.Cut(folder, request.kernel, artefacts, request.cut_s, scenarios)
    names = list(scenarios)
    for name in names:
        if not (folder / f"{name}.json").exists():
            with suppress(UserError):
                cut.kept(log, name)
    shown = [name for name in names if (folder / f"{name}.json").exists()]
    return f"{len(shown)} of {len(names)} options shown"


def _first_round(folder: Path, plan: dict[str, Any]) -> dict[str, Path]:
    """Each option that has a disk, and a scenario of its first round."""
    of_all = {
        cell["option"]: folder / cell["scenario"]
        for cell in plan["cells"]
        if cell["round"] == 1
    }
    return {
        row["name"]: of_all[row["name"]]
        for row in plan["options"]
        if row["filesystem"]["type"] != "tmpfs"
    }


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
        python, artefacts = prepare(progress, request.kernel, request.extras)
        clock = measure_by(request.kernel)
        with progress.stage() as log:
            folder.mkdir(parents=True, exist_ok=True)
            inputs = f"{Path(artefacts).name} {request.engine} {clock}"
            given = ("--inputs", inputs, *request.planned)
            log.note = f"{answer('repro/plan', '--out', str(folder), *given)}, {clock}"
        with progress.stage() as log:
            (folder / "machines").mkdir(exist_ok=True)
            _note_host(folder / "machines/host.json")
            log.note = _runs(log, request, artefacts)
        with progress.stage() as log:
            log.note = _cuts(log, request, artefacts)
        with progress.stage() as log:
            text = _report(log, python, request)
            log.note = str(folder / "compare.html")
    except StageError as failed:
        return failed.status
    print(f"\n{text.rstrip()}\n")
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
