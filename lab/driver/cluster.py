# SPDX-License-Identifier: GPL-2.0-only
"""cluster: run a comparison's cells on several machines at a time, with Snakemake.

repro/Snakefile is the workflow; --executor says what runs its jobs, here or on a
cluster. The nodes see the checkout, the cache and the comparison at the same paths.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from driver import scheduler
from driver.commands import setup
from driver.planned import Planned
from driver.progress import StageLog
from driver.project import PROJECT
from writestall_base.errors import UserError

SNAKEFILE = PROJECT / "repro/Snakefile"
# Snakemake's executors, and the extras of pyproject.toml that provide them.
EXECUTORS = {
    "local": ("cluster",),
    "slurm": ("cluster", "slurm"),
    "cluster-generic": ("cluster", "cluster-generic"),
}
# compare-options and export run in the same Python.
BESIDE = ("compare", "export")
RETRIES = "1"


@dataclass(frozen=True)
class Cluster:
    """How many runs at a time, and on what."""

    jobs: int
    executor: str
    options: tuple[str, ...]

    @staticmethod
    def wanted(jobs: int | None, executor: str | None) -> Cluster | None:
        """None where neither option was given: one machine runs all cells."""
        if not jobs and not executor:
            return None
        name = executor or "local"
        return Cluster(jobs or 1, name, scheduler.options(name))

    @property
    def extras(self) -> tuple[str, ...]:
        """Groups of pyproject.toml that its Python needs."""
        return (*BESIDE, *EXECUTORS[self.executor])


def _command(planned: Planned, spread: Cluster) -> list[str]:
    """Snakemake, on the comparison's folder."""
    settings = planned.settings
    command = [str(setup.python(spread.extras)), "-m", "snakemake"]
    command += ["--snakefile", str(SNAKEFILE), "--directory", str(planned.folder)]
    command += ["--executor", spread.executor, "--jobs", str(spread.jobs)]
    command += spread.options
    command += ["--keep-going", "--retries", RETRIES, "--rerun-triggers", "mtime"]
    # Go on after a power cut, which leaves a lock and incomplete tables.
    command += ["--nolock", "--rerun-incomplete"]
    command += ["--config", f"kernel={settings.kernel}", f"accel={settings.accel}"]
    return [*command, f"engine={planned.engine}"]


def _consoles(folder: Path) -> dict[Path, int]:
    """Each machine's console, and when it last grew."""
    found = (folder / "machines").glob("*.console.log")
    return {path: path.stat().st_mtime_ns for path in found}


def run(log: StageLog, planned: Planned, spread: Cluster) -> None:
    """Run each cell that is left on a machine of its own; those that fail stay left."""
    folder = planned.folder
    before = _consoles(folder)
    try:
        # SIGINT has Snakemake cancel its jobs; with SIGTERM it waits for them.
        log.run(_command(planned, spread), end=signal.SIGINT)
    except KeyboardInterrupt:
        scheduler.cancel(spread.executor, log.path.read_text(errors="replace"))
        raise
    except UserError:
        # The manifests, and the machines' own verdicts, say what failed; where no
        # machine was begun, Snakemake's words do.
        if _consoles(folder) == before:
            raise
