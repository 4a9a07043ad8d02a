# SPDX-License-Identifier: GPL-2.0-only
"""cluster: a comparison's cells to runs on many machines at a time, by Snakemake.

Here or on a cluster: repro/Snakefile is the workflow, EXECUTOR says who carries its
jobs out. The nodes see the checkout, the cache and the comparison at the same paths.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from driver import artefacts, cells, setup
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

    @staticmethod
    def from_environment() -> Cluster | None:
        """Read JOBS and EXECUTOR; None where neither is set: one machine for all."""
        executor = os.environ.get("EXECUTOR") or "local"
        if executor not in EXECUTORS:
            known = ", ".join(EXECUTORS)
            raise UserError(f"EXECUTOR={executor}: want one of {known}")
        jobs = whole("JOBS", 1)
        asked = os.environ.get("JOBS") or os.environ.get("EXECUTOR")
        return Cluster(jobs, executor) if asked else None

    @property
    def extras(self) -> tuple[str, ...]:
        """Groups of pyproject.toml that its Python needs."""
        return (*BESIDE, *EXECUTORS[self.executor])


def run(log: StageLog, where: tuple[Path, str, str], spread: Cluster) -> None:
    """Run each cell that is left on a machine of its own; those that fail stay left.

    `where` is the comparison's folder, kernel and engine.
    """
    folder, kernel, engine = where
    command = [str(setup.python(spread.extras)), "-m", "snakemake"]
    command += ["--snakefile", str(SNAKEFILE), "--directory", str(folder)]
    command += ["--executor", spread.executor, "--jobs", spread.jobs]
    command += ["--keep-going", "--retries", TRIES_AGAIN, "--rerun-triggers", "mtime"]
    # What a power cut left, a lock and half a table, keeps nobody from going on.
    command += ["--nolock", "--rerun-incomplete"]
    command += ["--config", f"kernel={kernel}", f"engine={engine}"]
    # The manifests, and the machines' own verdicts, say what failed.
    with suppress(UserError):
        log.run(command)


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
