# SPDX-License-Identifier: GPL-2.0-only
"""clients: the programs that write on a schedule: command lines, and one that runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labrun.scenario.keys import AnyWorkload, Scenario, Scheduled, Workload
from labrun.scenario.kinds import Broker, Fio, Safepoint
from labrun.setup import memory
from labrun.setup.staging import MEMORY
from writestall_base import TREE, process
from writestall_base.errors import StepError
from writestall_base.steps import Run

# A writer ends with its schedule, but its last write may stall.
GRACE_S = 300
STOP_S = 60


def record_stem(index: int, workload: AnyWorkload) -> str:
    """Return writer for the first workload, the client, and writer-NAME for others."""
    return "writer" if index == 0 else f"writer-{workload.name}"


def _latwriter(work: Workload, _: Path) -> list[Any]:
    return [
        *("--writers", work.writers),
        *(["--shared-file"] if work.shared_file else []),
        *(["--pwrite", work.region_bytes] if work.region_bytes else []),
        *("--fsync-every", work.fsync_every),
    ]


def _safepoint(work: Safepoint, records: Path) -> list[Any]:
    return [
        *("--threads", work.threads),
        *("--unit-interval-us", work.unit_interval_us),
        *("--unit-us", work.unit_us),
        *(["--async"] if work.asynchronous else []),
        *("--hlog-pause", f"{records}-pause.hlog"),
    ]


def _broker(work: Broker, _: Path) -> list[Any]:
    return ["--partitions", work.partitions, "--threads", work.threads]


def _fio(work: Fio, _: Path) -> list[Any]:
    return ["--job", work.job_file]


# The options of each program besides the common ones.
OPTIONS: dict[str, Callable[[Any, Path], list[Any]]] = {
    "latwriter": _latwriter,
    "safepoint": _safepoint,
    "broker": _broker,
    "fio": _fio,
}
# Programs that are scripts.
SCRIPTS = {"fio": TREE / "repro/fio-client"}
COMPILED = OPTIONS.keys() - SCRIPTS


@dataclass(frozen=True)
class Place:
    """Where the programs of a scenario are, run and write, and for how long."""

    programs: Path
    folder_of: Callable[[AnyWorkload], Path]
    group_of: Callable[[AnyWorkload], Path | None]
    duration_s: int


def argv(place: Place, workload: Scheduled, seed: int, records: Path) -> list[str]:
    """Return a program's command line; `records` is the stem of its logs."""
    name = workload.name if isinstance(workload, Broker) else f"{workload.name}.log"
    words: list[Any] = [
        SCRIPTS.get(workload.kind, place.programs / workload.kind),
        *OPTIONS[workload.kind](workload, records),
        *("--bytes", workload.write_bytes, "--interval-us", workload.interval_us),
        *("--duration-s", place.duration_s, "--slow-us", workload.slow_us),
        *("--seed", seed, "--path", place.folder_of(workload) / name),
        *("--hlog", f"{records}.hlog"),
        *("--hlog-service", f"{records}-service.hlog"),
        *("--slow-log", f"{records}.jsonl"),
    ]
    return list(map(str, words))


@contextmanager
def placed(scenario: Scenario, disk: Path) -> Iterator[Callable[[AnyWorkload], Path]]:
    """Yield a function that returns a workload's folder, on the disk or a tmpfs."""
    if not any(map(on_tmpfs, scenario.workload)):
        yield lambda _: disk
        return
    with tempfile.TemporaryDirectory(prefix="writestall-run-", dir=MEMORY) as folder:
        memory = Path(folder) / disk.name
        memory.mkdir()
        yield lambda workload: memory if on_tmpfs(workload) else disk


def on_tmpfs(workload: AnyWorkload) -> bool:
    """Whether its file is on a tmpfs."""
    return isinstance(workload, Safepoint) and workload.on_tmpfs


class Writer:
    """A running program and its entry in the manifest."""

    def __init__(
        self, run: Run, command: list[str], stem: str, name: str, group: Path | None
    ) -> None:
        self.name = name
        self._program = Path(command[0]).name
        self.entry: dict[str, Any] = {
            "name": name,
            "argv": command,
            "exit_status": None,
        }
        self._log = run.folder / f"{stem}.log"
        with self._log.open("wb") as log:
            self.process = process.start(memory.inside(group, command), log)

    def running(self) -> bool:
        """Return False once it has ended; raise StepError if it failed."""
        if self.process.poll() is None:
            return True
        self.entry["exit_status"] = self.process.returncode
        if self.process.returncode:
            how = process.ending(self.process.returncode)
            raise StepError(f"writer {self.name}: {how}; {self.last_line()}")
        return False

    def overdue(self, late_s: float) -> None:
        """Do what is due so long after the end of the workload's time."""
        if late_s > GRACE_S:
            raise StepError(f"the writers did not end {GRACE_S} s after their schedule")

    def end(self) -> None:
        """End it with SIGINT, then kill it."""
        process.end(self.process, STOP_S)
        self.entry["exit_status"] = self.process.returncode

    def last_line(self) -> str:
        """Return its counts, or its error."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        failure = next(
            (line for line in lines if ": write " in line or ": fsync " in line), None
        )
        said = failure or (lines or ["it printed nothing"])[-1]
        return said.removeprefix(f"{self._program}: ")

    def has_said(self, text: str) -> bool:
        """Whether a whole line of its output has that text."""
        whole = self._log.read_text(errors="replace").rpartition("\n")[0]
        return text in whole
