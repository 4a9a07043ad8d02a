# SPDX-License-Identifier: GPL-2.0-only
"""tracer: start, check and stop the tracers of a run, or of a host's recording."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from writestall_base import TREE, process
from writestall_base.errors import StepError
from writestall_base.steps import Run

LAUNCHER = TREE / "trace/trace"
SCRIPT = "stalled_writes"
# Loading and attaching takes seconds under TCG.
BEGIN_TIMEOUT_S = 120
END_TIMEOUT_S = 60
LAST_LINE_BYTES = 65536


@dataclass(frozen=True)
class Engine:
    """A tracing engine, and the compiled part it needs; `option` names that to the
    launcher. `counting` are its options to count all bios."""

    name: str
    part: str
    option: str
    counting: tuple[str, ...] = ()


ENGINES = {
    "stap": Engine("stap", f"stap/{SCRIPT}.ko", "--module"),
    "core": Engine("core", "core/stalled-writes", "--program", ("--series-ms", "100")),
}
CHOICES = {
    **{name: (name,) for name in ENGINES},
    "both": ("stap", "core"),
    "none": (),
}


class Tracer:
    """A running tracer and its entry in the manifest."""

    def __init__(self, run: Run, engine: Engine) -> None:
        self.engine = engine
        self.output = run.events / f"{engine.name}.jsonl"
        self.log = run.events / f"{engine.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.armed = False
        self.reported = False
        self.entry: dict[str, Any] = {
            "engine": engine.name,
            "version": None,
            "script": SCRIPT,
            **dict.fromkeys(("exit_status", "events", "lost")),
        }

    def start(self, command: list[str]) -> int:
        """Start it and return its pid; it is armed once begun() returns True."""
        with self.log.open("wb") as log:
            self.process = process.start(command, log)
        return self.process.pid

    def begun(self) -> bool:
        """Return whether the begin line is there; raise StepError if it has ended."""
        line = _first_line(self.output)
        if line is None:
            self.check()
            return False
        begin = _parse(line)
        if begin.get("ev") != "begin":
            raise StepError(f"{self.engine.name}: the first line is not a begin event")
        self.entry["version"] = begin.get("engine_version")
        self.armed = True
        return True

    def check(self) -> None:
        """Raise StepError if it has ended."""
        assert self.process is not None
        if self.process.poll() is not None:
            self.reported = True
            how = process.ending(self.process.returncode)
            raise StepError(
                f"tracer {self.engine.name} ended early: {how}; {self._said()}"
            )

    def finish(self) -> str:
        """Stop it; raise StepError if it failed or its stream has no end line."""
        assert self.process is not None
        process.end(self.process, END_TIMEOUT_S)
        status = self.entry["exit_status"] = self.process.returncode
        end = _parse(_last_line(self.output))
        if self.reported or not self.armed:
            return "ended early" if self.reported else "stopped before it was armed"
        if status or end.get("ev") != "end":
            how = process.ending(status) if status else "its stream has no end line"
            raise StepError(f"tracer {self.engine.name}: {how}; {self._said()}")
        self.entry["events"], self.entry["lost"] = end.get("events"), end.get("lost")
        return f"{end.get('events')} events, {end.get('lost')} lost"

    def _said(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return f"it printed: {lines[-1]}" if lines else f"see {self.log.name}"


@contextmanager
def tracing(
    run: Run,
    engines: tuple[str, ...],
    argv_of: Callable[[Engine, Path], list[str]],
    limit_s: float = BEGIN_TIMEOUT_S,
    started: Callable[[int], None] = lambda _: None,
) -> Iterator[list[Tracer]]:
    """Start the tracers and wait until they are armed; stop them in reverse order.

    `argv_of` is the command of an engine that traces to a file; `started` hears the
    pid of each, which leads a session.
    """
    run.events.mkdir()
    tracers = [Tracer(run, ENGINES[name]) for name in engines]
    run.manifest["tracers"] = [tracer.entry for tracer in tracers]
    try:
        with run.step("trace", ", ".join(engines) or "no tracer"):
            for tracer in tracers:
                started(tracer.start(argv_of(tracer.engine, tracer.output)))
            for tracer in tracers:
                what = f"the begin line of {tracer.engine.name}"
                process.wait_until(tracer.begun, limit_s, run.stop, what)
            run.stop.check()  # one that is armed between two looks
        yield tracers
    finally:
        for tracer in reversed(tracers):
            with run.undo(f"stop-{tracer.engine.name}") as step:
                if tracer.process is None:
                    step.skip("not started")
                else:
                    step.detail = tracer.finish()


def _first_line(path: Path) -> bytes | None:
    """Return the first complete line, or None."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        line = file.readline()
    return line if line.endswith(b"\n") else None


def _last_line(path: Path) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LAST_LINE_BYTES))
        lines = file.read().splitlines()
    return lines[-1] if lines else b""


def _parse(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
