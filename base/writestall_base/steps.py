# SPDX-License-Identifier: GPL-2.0-only
"""steps: do and undo the steps of a run, and note each in its manifest."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from writestall_base.errors import StoppedError, UserError
from writestall_base.progress import Progress
from writestall_base.stop import Stop

FORMAT = 1


class Step:
    """A step in progress; the manifest gets the final value of `detail`."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        self.skipped = False

    def skip(self, why: str) -> None:
        """Note that there was nothing to do."""
        self.skipped = True
        self.detail = why


class Run:
    """One run: its folders, its manifest, its steps.

    `out` is the run directory. Files that grow during the run are written to `folder`
    and copied to `out` (setup/staging.py).
    """

    def __init__(self, out: Path, progress: Progress, stop: Stop) -> None:
        self.out = out
        self.folder = out
        self.progress = progress
        self.stop = stop
        self.steps: list[dict[str, Any]] = []
        self.manifest: dict[str, Any] = {
            "format": FORMAT,
            "status": "running",
            "reason": None,
        }

    @property
    def events(self) -> Path:
        """The tracers' folder."""
        return self.folder / "events"

    def create(self) -> None:
        """Make the folder and the first manifest."""
        self.out.mkdir(parents=True, exist_ok=True)
        self.manifest["clock"] = {
            "monotonic_ns": time.monotonic_ns(),
            "realtime_ns": time.time_ns(),
        }
        self.save()

    def save(self) -> None:
        """Replace the manifest atomically."""
        text = json.dumps(self.manifest | {"steps": self.steps}, indent=2)
        new = self.out / "manifest.json.new"
        with new.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.out / "manifest.json")

    @contextmanager
    def step(self, name: str, detail: str = "") -> Iterator[Step]:
        """Do a step; a failure ends the run, and so does a signal before it."""
        self.stop.check()
        step, start_ns = Step(detail), time.monotonic_ns()
        self.progress.begin(name)
        try:
            yield step
        except Exception as error:
            status = "cut_off" if isinstance(error, StoppedError) else "failed"
            self.fail(f"{name}: {describe(error)}", status)
            self._ended(name, start_ns, "failed", describe(error))
            raise
        self._ended(name, start_ns, "skipped" if step.skipped else "ok", step.detail)

    @contextmanager
    def undo(self, name: str, detail: str = "") -> Iterator[Step]:
        """Undo a step; a failure is noted, and the others are still undone."""
        step, start_ns = Step(detail), time.monotonic_ns()
        self.progress.begin(name)
        status = "ok"
        try:
            yield step
            status = "skipped" if step.skipped else "ok"
        except Exception as error:
            status, step.detail = "failed", describe(error)
            self._also_failed(f"{name}: {step.detail}")
        try:
            self._ended(name, start_ns, status, step.detail)
        except OSError as error:  # the run directory's disk is full
            self._also_failed(f"{name}: {describe(error)}")

    def _ended(self, name: str, start_ns: int, status: str, detail: str) -> None:
        dur_ns = time.monotonic_ns() - start_ns
        self.steps.append(
            {
                "name": name,
                "start_ns": start_ns,
                "dur_ns": dur_ns,
                "status": status,
                "detail": detail or None,
            }
        )
        self.progress.end(name, status, dur_ns, detail)
        self.save()

    def fail(self, reason: str, status: str = "failed") -> None:
        """Note why the run is not complete; keep the first reason."""
        if self.manifest["reason"] is None:
            self.manifest["reason"] = reason
            self.manifest["status"] = status

    def _also_failed(self, reason: str) -> None:
        """Note that undoing failed; keep the earlier reason too."""
        before = self.manifest["reason"]
        self.manifest["reason"] = f"{before}; {reason}" if before else reason
        self.manifest["status"] = "failed"

    def finish(self) -> None:
        """Mark the run as complete if nothing failed."""
        if self.manifest["reason"] is None:
            self.manifest["status"] = "complete"
        try:
            self.save()
        except OSError as error:
            self._also_failed(f"manifest.json: {describe(error)}")


def describe(error: Exception) -> str:
    """Return the error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        )
    if isinstance(error, UserError):
        return str(error)
    return f"{type(error).__name__}: {error}"
