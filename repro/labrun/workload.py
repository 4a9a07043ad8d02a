# SPDX-License-Identifier: GPL-2.0-only
"""workload: a scenario's writers to their records in the run directory."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labrun import process
from labrun.errors import StepError
from labrun.run import Run
from labrun.scenario import Scenario, Workload

# A writer ends with its schedule, but a stall may hold its last write.
GRACE_S = 300
STOP_S = 60
TICK_S = 1.0


def record_stem(index: int, workload: Workload) -> str:
    """The first workload is the client: writer.*; others writer-NAME.*."""
    return "writer" if index == 0 else f"writer-{workload.name}"


def argv(
    latwriter: Path,
    workload: Workload,
    duration_s: int,
    seed: int,
    folder: Path,
    records: Path,
) -> list[str]:
    """latwriter's command line; `records` is the stem of its logs' paths."""
    how = ["--pwrite", workload.region_bytes] if workload.region_bytes else ["--append"]
    shared = ["--shared-file"] if workload.shared_file else []
    numbers: list[Any] = [
        "--writers",
        workload.writers,
        *shared,
        "--bytes",
        workload.write_bytes,
        "--interval-us",
        workload.interval_us,
        "--duration-s",
        duration_s,
        *how,
        "--fsync-every",
        workload.fsync_every,
        "--slow-us",
        workload.slow_us,
        "--seed",
        seed,
        "--path",
        folder / f"{workload.name}.log",
        "--hlog",
        f"{records}.hlog",
        "--hlog-service",
        f"{records}-service.hlog",
        "--slow-log",
        f"{records}.jsonl",
    ]
    return [str(latwriter), *map(str, numbers)]


class Writer:
    """A running latwriter and its entry in the manifest."""

    def __init__(self, run: Run, command: list[str], stem: str, name: str) -> None:
        self.name = name
        self.entry: dict[str, Any] = {
            "name": name,
            "argv": command,
            "exit_status": None,
        }
        self._log = run.folder / f"{stem}.log"
        with self._log.open("wb") as log:
            self.process = process.start(command, log)

    def running(self) -> bool:
        """False once it ended well; StepError when it did not."""
        if self.process.poll() is None:
            return True
        self.entry["exit_status"] = self.process.returncode
        if self.process.returncode:
            how = process.ending(self.process.returncode)
            raise StepError(f"writer {self.name}: {how}; {self.last_words()}")
        return False

    def end(self) -> None:
        """Stop it in order, then for sure."""
        process.end(self.process, STOP_S)
        self.entry["exit_status"] = self.process.returncode

    def last_words(self) -> str:
        """What it said about itself: its counts, or what went wrong."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        failure = next(
            (line for line in lines if ": write " in line or ": fsync " in line), None
        )
        return (failure or (lines or ["it said nothing"])[-1]).removeprefix(
            "latwriter: "
        )


def write(
    run: Run,
    scenario: Scenario,
    duration_s: int,
    latwriter: Path,
    folder: Path,
    tick: Callable[[], None],
) -> None:
    """Run all writers to their end; `tick` is called every second meanwhile."""
    writers: list[Writer] = []
    with run.step("write") as step:
        window = {"start_ns": time.monotonic_ns(), "end_ns": 0}
        run.manifest["window"] = window
        try:
            for index, workload in enumerate(scenario.workload):
                stem = record_stem(index, workload)
                command = argv(
                    latwriter,
                    workload,
                    duration_s,
                    scenario.seed + index,
                    folder,
                    run.folder / stem,
                )
                writers.append(Writer(run, command, stem, workload.name))
            _note(run, writers)
            _wait(run, writers, duration_s, tick)
            step.detail = "; ".join(
                f"{writer.name}: {writer.last_words()}" for writer in writers
            )
        finally:
            for writer in writers:
                writer.end()
            window["end_ns"] = time.monotonic_ns()


def _note(run: Run, writers: list[Writer]) -> None:
    run.manifest["writer"] = writers[0].entry
    run.manifest["load"] = [writer.entry for writer in writers[1:]]


def _wait(
    run: Run, writers: list[Writer], duration_s: int, tick: Callable[[], None]
) -> None:
    deadline_s = time.monotonic() + duration_s + GRACE_S
    next_tick_s = 0.0
    while any([writer.running() for writer in writers]):
        run.stop.check()
        now_s = time.monotonic()
        if now_s > deadline_s:
            raise StepError(f"the writers did not end {GRACE_S} s after their schedule")
        if now_s >= next_tick_s:
            tick()
            next_tick_s = now_s + TICK_S
        time.sleep(process.POLL_S)
