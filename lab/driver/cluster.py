# SPDX-License-Identifier: GPL-2.0-only
"""cluster: a comparison's cells to runs on many machines at a time, by Snakemake.

Here or on a cluster: repro/Snakefile is the workflow, EXECUTOR says who carries its
jobs out. The nodes see the checkout, the cache and the comparison at the same paths.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from driver import artefacts, cells, scheduler, setup
from driver.lab import measure_by, whole
from driver.progress import StageLog, watched
from driver.project import PROJECT
from machine.errors import UserError

SNAKEFILE = PROJECT / "repro/Snakefile"
# Snakemake's executor, and what of pyproject.toml brings it.
EXECUTORS = {
    "local": ("cluster",),
    "slurm": ("cluster", "slurm"),
    "cluster-generic": ("cluster", "cluster-generic"),
}
# compare-options and export run in the same Python.
BESIDE = ("compare", "export")
TRIES_AGAIN = "1"


@dataclass(frozen=True)
class Cluster:
    """How many runs at a time, and on what."""

    jobs: str
    executor: str
    options: tuple[str, ...]

    @staticmethod
    def from_environment() -> Cluster | None:
        """Read JOBS and EXECUTOR; None where neither is set: one machine for all."""
        executor = os.environ.get("EXECUTOR") or "local"
        if executor not in EXECUTORS:
            known = ", ".join(EXECUTORS)
            raise UserError(f"EXECUTOR={executor}: want one of {known}")
        jobs = whole("JOBS", 1)
        asked = os.environ.get("JOBS") or os.environ.get("EXECUTOR")
        if not asked:
            return None
        return Cluster(jobs, executor, scheduler.options(executor))

    @property
    def extras(self) -> tuple[str, ...]:
        """Groups of pyproject.toml that its Python needs."""
        return (*BESIDE, *EXECUTORS[self.executor])


def _command(where: tuple[Path, str, str], spread: Cluster) -> list[str]:
    """Snakemake, on the comparison's folder."""
    folder, kernel, engine = where
    command = [str(setup.python(spread.extras)), "-m", "snakemake"]
    command += ["--snakefile", str(SNAKEFILE), "--directory", str(folder)]
    command += ["--executor", spread.executor, "--jobs", spread.jobs]
    command += spread.options
    command += ["--keep-going", "--retries", TRIES_AGAIN, "--rerun-triggers", "mtime"]
    # What a power cut left, a lock and half a table, keeps nobody from going on.
    command += ["--nolock", "--rerun-incomplete"]
    return [*command, "--config", f"kernel={kernel}", f"engine={engine}"]


def _consoles(folder: Path) -> dict[Path, int]:
    """Each machine's console there is, and when it last said something."""
    found = (folder / "machines").glob("*.console.log")
    return {path: path.stat().st_mtime_ns for path in found}


def run(log: StageLog, where: tuple[Path, str, str], spread: Cluster) -> None:
    """Run each cell that is left on a machine of its own; those that fail stay left.

    `where` is the comparison's folder, kernel and engine.
    """
    folder = where[0]
    before = _consoles(folder)
    try:
        # SIGINT has Snakemake cancel its jobs; with SIGTERM it waits for them.
        log.run(_command(where, spread), end=signal.SIGINT)
    except KeyboardInterrupt:
        scheduler.cancel(spread.executor, log.path.read_text(errors="replace"))
        raise
    except UserError:
        # The manifests, and the machines' own verdicts, say what failed; where no
        # machine was begun, Snakemake's words do.
        if _consoles(folder) == before:
            raise


def cell() -> int:
    """Run one cell of a comparison, unless it is complete; 1 when it still is not."""
    parser = argparse.ArgumentParser(
        prog="lab/cell", description="Run one cell of a planned comparison."
    )
    add = parser.add_argument
    add("folder", metavar="DIR", type=Path, help="the comparison's folder")
    add("cell", metavar="OPTION[-at-LOAD]/ROUND")
    add("--kernel", metavar="NAME", required=True)
    add("--engine", metavar="NAME", required=True)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    option, _, number = asked.cell.rpartition("/")
    scenario = folder / "scenarios" / number / f"{option}.toml"
    if not scenario.exists():
        raise UserError(f"{asked.cell}: no cell of that plan, {scenario} is missing")
    if asked.cell not in cells.left(folder):
        return 0
    parts = str(artefacts.build(asked.kernel))
    measure_by(asked.kernel)
    where = (folder, asked.kernel, asked.engine)
    name = asked.cell.replace("/", "-")
    command = cells.machine(where, name, [asked.cell], parts)
    return watched([command], sys.stdout.buffer) or asked.cell in cells.left(folder)
