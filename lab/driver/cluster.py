# SPDX-License-Identifier: GPL-2.0-only
"""cluster: run a comparison's rounds on several machines at a time, with Snakemake.

repro/Snakefile is the workflow; --executor says what runs its jobs, here or on a
cluster. The nodes see the checkout, the cache and the comparison at the same paths.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from driver.commands import setup
from driver.planned import Planned
from driver.progress import StageLog
from driver.project import PROJECT
from machine.commands import said
from writestall_base.errors import UserError

SNAKEFILE = PROJECT / "repro/Snakefile"
# Snakemake's executors, and the extras of pyproject.toml that provide them.
EXECUTORS = {
    "local": ("cluster",),
    "slurm": ("cluster", "slurm"),
    "cluster-generic": ("cluster", "cluster-generic"),
}
# compare-options runs in the same Python.
BESIDE = ("compare",)
RETRIES = "1"
# As long as the executor trusts squeue: three of its 40 s between two looks.
LEAST_JOB_AGE_S = 120
SLURM_TOOLS = ("sbatch", "squeue", "scancel", "scontrol")
SUBMIT, CANCEL = "cluster-generic-submit-cmd", "cluster-generic-cancel-cmd"
# What the executors print: the name of all jobs of a run; each job's beginning, end.
RUN = re.compile(r"^SLURM run ID: (\S+)", re.MULTILINE)
JOBS = re.compile(r"job (\d+) with external jobid '(.+)'|^Finished jobid: (\d+)", re.M)
# Snakemake looks for a profile's name here, as well as for its path.
CONFIG = re.compile(r"(config|profile)(\.v\d+\+)?\.yaml")
PROFILES = ("~/.config/snakemake", "/etc/xdg/snakemake")


def _job_age_s() -> int:
    """For how many seconds slurmctld remembers a job that has ended."""
    done = said(["scontrol", "show", "config"])
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it failed"])[-1]
        raise UserError(
            f"--executor slurm: scontrol finds no cluster ({why});"
            " start it where sinfo lists the nodes"
        )
    age = re.search(r"^MinJobAge\s*=\s*(\d+)", done.stdout, re.MULTILINE)
    return int(age[1]) if age else 0


def _slurm() -> tuple[str, ...]:
    """Refuse what is no cluster; squeue where no accounting answers.

    The executor takes sacct wherever it is installed, and waits for ever where the
    cluster keeps no accounting: Debian has it in one package with sbatch.
    """
    lacking = [name for name in SLURM_TOOLS if not shutil.which(name)]
    if lacking:
        raise UserError(
            f"--executor slurm: no {', '.join(lacking)} on PATH; start it on a machine"
            " that submits jobs, or install Slurm's commands (Debian: slurm-client)"
        )
    age_s = _job_age_s()
    if shutil.which("sacct") and not said(["sacct", "-X", "--noheader"]).returncode:
        return ()
    if age_s < LEAST_JOB_AGE_S:
        raise UserError(
            f"--executor slurm: no accounting answers sacct, and MinJobAge={age_s} is"
            f" too short for squeue; set it to {LEAST_JOB_AGE_S} or more in slurm.conf"
        )
    return ("--slurm-status-command", "squeue")


def _profile() -> Path | None:
    """The file that SNAKEMAKE_PROFILE names; set the variable to its full path.

    Snakemake's jobs begin in another folder than Snakemake does.
    """
    name = os.environ.get("SNAKEMAKE_PROFILE")
    if not name:
        return None
    for place in (".", *PROFILES):
        path = (Path(place).expanduser() / name).absolute()
        inside = [file for file in path.glob("*.yaml") if CONFIG.fullmatch(file.name)]
        # The one for the latest Snakemake last: config.yaml, config.v9+.yaml.
        files = sorted(inside, key=lambda file: (len(file.name), file.name))
        if files or path.is_file():
            os.environ["SNAKEMAKE_PROFILE"] = str(path)
            return [path, *files][-1]
    raise UserError(
        f"SNAKEMAKE_PROFILE={name}: want a folder with a config.yaml, or such a file"
    )


def _value(key: str) -> str | None:
    """What the profile has behind a key, on its line; None without the key."""
    profile = _profile()
    text = profile.read_text(errors="replace") if profile else ""
    line = re.search(rf"^{key}[ \t]*:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return line[1].strip("\"'") if line else None


def _cluster_generic() -> tuple[str, ...]:
    """Refuse what could submit no job, or would leave some when interrupted."""
    lacking = [key for key in (SUBMIT, CANCEL) if _value(key) is None]
    if lacking:
        raise UserError(
            f"--executor cluster-generic: want {' and '.join(lacking)} in a profile of"
            " Snakemake's, named by SNAKEMAKE_PROFILE (docs/compare.md shows one)"
        )
    return ()


SCHEDULERS: dict[str, Callable[[], tuple[str, ...]]] = {
    "slurm": _slurm,
    "cluster-generic": _cluster_generic,
}


def options(executor: str) -> tuple[str, ...]:
    """Snakemake's options besides the executor's name; refuse what cannot work before
    anything begins: Snakemake reports it late, or waits."""
    _profile()
    return SCHEDULERS[executor]() if executor in SCHEDULERS else ()


def _unfinished(printed: str) -> list[str]:
    """The scheduler's names of the jobs that were submitted and did not finish."""
    jobs: dict[str, str] = {}
    for begun, name, ended in JOBS.findall(printed):
        if ended:
            jobs.pop(ended, None)
        else:
            jobs[begun] = name
    return list(jobs.values())


def cancel(executor: str, printed: str) -> None:
    """Cancel what an interrupted Snakemake, which printed that, left in the queue.

    It cancels the jobs it waits for, and has none in hand while it asks how they are.
    """
    if executor == "slurm" and (run := RUN.search(printed)):
        said(["scancel", "--name", run[1]])
    elif executor == "cluster-generic" and (jobs := _unfinished(printed)):
        command = str(Path(os.path.expandvars(_value(CANCEL) or "")).expanduser())
        beside = Path(os.environ["SNAKEMAKE_PROFILE"]) / command
        with suppress(OSError):
            said([str(beside) if beside.exists() else command, *jobs])


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
        return Cluster(jobs or 1, name, options(name))

    @property
    def extras(self) -> tuple[str, ...]:
        """Groups of pyproject.toml that its Python needs."""
        return (*BESIDE, *EXECUTORS[self.executor])

    def run(
        self,
        log: StageLog,
        planned: Planned,
        what: str,
        numbers: Sequence[int],
        words: str,
    ) -> None:
        """Carry out jobs of that kind and these numbers; those that fail stay left.

        `words` are the options of `writestall job`. Snakemake's own files, scripts of
        jobs among them, are beside the comparison's folder, to which guests write.
        """
        targets = [f"{what}-{number}.done" for number in numbers]
        folder = planned.folder
        place = _own_folder(folder.with_name(f"{folder.name}.jobs"))
        before = _consoles(folder)
        # It takes the quotes off a value's ends, and a number's last 0.
        config = [f"folder={folder}", f"options={words}", f"minutes={planned.minutes}"]
        try:
            # SIGINT has Snakemake cancel its jobs; with SIGTERM it waits for them.
            log.run(self._command(place, targets, config), end=signal.SIGINT)
        except KeyboardInterrupt:
            cancel(self.executor, log.path.read_text(errors="replace"))
            raise
        except UserError:
            # The manifests, and the machines' own verdicts, say what failed; where no
            # machine was begun, Snakemake's words do.
            if _consoles(folder) == before:
                raise

    def _command(
        self, place: Path, targets: Sequence[str], config: Sequence[str]
    ) -> list[str]:
        """Snakemake, in that folder."""
        command = [str(setup.python(self.extras)), "-m", "snakemake", *targets]
        command += ["--snakefile", str(SNAKEFILE), "--directory", str(place)]
        command += ["--executor", self.executor, "--jobs", str(self.jobs)]
        command += self.options
        # What is left is named, and done though an earlier call has done as much.
        command += ["--forceall", "--keep-going", "--retries", RETRIES, "--nolock"]
        return [*command, "--config", *config]


def _own_folder(place: Path) -> Path:
    """A folder of this user's: what is in it will be executed. Raises UserError."""
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    status = place.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise UserError(f"{place} is no folder of yours: move it away, or give --out")
    return place


def _consoles(folder: Path) -> dict[Path, int]:
    """Each machine's console, and when it last grew."""
    found = [*folder.glob("machines/*.console.log"), *folder.glob("crash/*/*/*.log")]
    return {path: path.stat().st_mtime_ns for path in found}
