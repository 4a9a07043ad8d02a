# SPDX-License-Identifier: GPL-2.0-only
"""variants: a scenario and all its variants, in one machine, to one table."""

from __future__ import annotations

import subprocess
from pathlib import Path

from driver import lab
from driver.lab import PREPARING, Request
from driver.progress import Progress, Stage, StageError, StageLog
from driver.project import OUT, cache
from machine.errors import UserError

AFTER = (
    Stage("runs", "each has a folder that says how far it came: manifest.json"),
    Stage("explain", "a variant does not show what its scenario promises: read on"),
)
LIMIT_EACH_S = 240
LATEST, TABLE = "latest-variants", "variants.txt"


def _names(scenario: str) -> list[str]:
    """The scenario and its variants as repro/run names them."""
    command = lab.tool("repro/run", "--list-variants", scenario)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def _run_all(
    log: StageLog, request: Request, names: list[str], folder: Path, built: str
) -> None:
    """All runs, one after another, in a machine that lives as long."""
    inside = ["repro/each", f"/mnt/out/{folder.name}", *names, "--"]
    inside += lab.run_arguments(request)
    limit_s = lab.RUN_LIMIT_S + LIMIT_EACH_S * len(names)
    try:
        log.run(lab.run_command(request, folder, built, inside, limit_s))
    finally:
        lab.add_machine(folder)
        lab.point_latest(folder, LATEST)
    log.note = str(folder)


def _explain_all(log: StageLog, python: Path, folder: Path) -> str:
    """Every run's own answer and page; their table goes to variants.txt."""
    misses = []
    for run in sorted(path.parent for path in folder.glob("*/manifest.json")):
        answer = lab.analyse(log, python, run, "explain", "--report")
        (run / "report.txt").write_text(answer)
        try:
            lab.analyse(log, python, run, "expect")
        except UserError as error:
            misses.append(f"{run.name}: {error}")
    (folder / TABLE).write_text(lab.analyse(log, python, folder, "variants"))
    if misses:
        raise UserError("; ".join(misses))
    return f"a folder per variant in {folder}"


def main() -> int:
    """Run all stages; print the table."""
    request = Request.from_environment("gc-log")
    if ":" in request.scenario:
        raise UserError(f"SCENARIO={request.scenario}: name it without its variant")
    progress = Progress((*PREPARING, *AFTER), cache.root() / "logs")
    folder, status = OUT / f"{request.run_name}-variants", 0
    try:
        python, built = lab.prepare(progress, request.kernel)
        lab.measure_by(request.kernel)
        brought = lab.begin(request, folder)
        names = [
            name.replace(request.scenario, brought.scenario, 1)
            for name in _names(request.scenario)
        ]
        with progress.stage() as log:
            _run_all(log, request, names, folder, built)
        with progress.stage() as log:
            log.note = _explain_all(log, python, folder)
    except StageError as failed:
        status = failed.status
    if (table := folder / TABLE).exists():  # a variant that missed is in it, too
        print(f"\n{table.read_text().rstrip()}\n")
        print(f"table:  {table}, also in {OUT / LATEST}; variants.json beside it")
    return status
