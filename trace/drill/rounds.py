# SPDX-License-Identifier: GPL-2.0-only
"""rounds: trace round by round until the functions that sleep are probed.

Round one probes the root alone and takes the stacks of its slow calls' sleeps. Each
further round probes the functions on those paths and what they call, for exact
times, until nearly all of the sleep is in probed functions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drill import sleeps
from drill.callees import Text
from foreign import files
from launcher.errors import TraceError
from writestall_base import TREE

Event = dict[str, Any]
TRACE = TREE / "trace/trace"
ARMED_WITHIN_S = 1800  # to compile with debuginfo on an emulated machine
ENOUGH_CALLS = 3
MAX_ROUNDS = 5
MAX_FUNCTIONS = 255  # of both engines, the root not counted
POLL_S = 0.1
END_S = 30
# A stopped shell becomes the command, so that its first call is seen, too.
STOPPED = ["sh", "-c", 'kill -STOP $$; exec "$@"', "drilldown"]


def must_exist(pid: int) -> None:
    """Raise TraceError where there is no such process."""
    if not files.is_there(pid):
        raise TraceError(f"no process {pid}: ps -e lists those there are")


class Command:
    """A command that is started anew for each round and watched to its end."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen([*STOPPED, *command])
        self.pid = self._process.pid
        os.waitpid(self.pid, os.WUNTRACED)

    def run(self, _enough: Callable[[], bool]) -> None:
        """Continue the command and wait for its end; ignore its status."""
        os.kill(self.pid, signal.SIGCONT)
        self._process.wait()

    def end(self) -> None:
        """Terminate the command if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            os.kill(self.pid, signal.SIGCONT)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Process:
    """A running process; a round ends with enough calls, or when its time is over."""

    def __init__(self, pid: int, round_s: float) -> None:
        must_exist(pid)
        self.pid = pid
        self._round_s = round_s

    def run(self, enough: Callable[[], bool]) -> None:
        """Wait for enough calls, the end of the round or of the process."""
        deadline_s = time.monotonic() + self._round_s
        while time.monotonic() < deadline_s and not enough():
            if not files.is_there(self.pid):
                return
            time.sleep(POLL_S)

    def end(self) -> None:
        """Leave the process alone."""


Workload = Command | Process


@dataclass
class Round:
    """What one round probed and saw."""

    functions: tuple[str, ...]
    events: list[Event] = field(default_factory=list)

    @property
    def calls(self) -> list[Event]:
        """The slow calls of the root."""
        return [event for event in self.events if event["ev"] == "call"]


@dataclass(frozen=True)
class Tracer:
    """The root, the options of trace/trace, and those of a built tracer, if given."""

    root: str
    options: tuple[str, ...]
    built: tuple[str, ...] = ()

    def compiling(self, arguments: list[str]) -> Tracer:
        """Return a tracer that compiles a module with the arguments of functions."""
        more = (*self.options, "--arguments", ",".join(arguments))
        return replace(self, options=more, built=())

    def watch(self, workload: Workload, functions: tuple[str, ...]) -> Round:
        """Trace the workload once and return the round."""
        with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
            output = Path(folder) / "events.jsonl"
            command = [str(TRACE), "drilldown", "--pid", str(workload.pid)]
            command += ["--functions", ",".join((self.root, *functions))]
            command += ["--output", str(output), *self.options, *self.built]
            with subprocess.Popen(command, process_group=0) as process:
                try:
                    _wait_armed(process, output)
                    workload.run(lambda: _slow_calls(output) >= ENOUGH_CALLS)
                finally:
                    workload.end()
                    process.send_signal(signal.SIGINT)
            if process.returncode:
                raise TraceError("the tracer failed: see the error above")
            return Round(functions, _events(output))


def _wait_armed(process: subprocess.Popen[bytes], output: Path) -> None:
    deadline_s = time.monotonic() + ARMED_WITHIN_S
    while not _text(output):
        if process.poll() is not None:
            raise TraceError("the tracer did not start: see the error above")
        if time.monotonic() > deadline_s:
            raise TraceError(f"the tracer was not ready within {ARMED_WITHIN_S} s")
        time.sleep(0.05)


def _text(output: Path) -> str:
    return output.read_text() if output.exists() else ""


def _slow_calls(output: Path) -> int:
    return _text(output).count('{"ev":"call"')


def _events(output: Path) -> list[Event]:
    return [json.loads(line) for line in _text(output).splitlines()]


def _wanted(text: Text, paths: list[sleeps.Path], root: str) -> tuple[str, ...]:
    """Return the functions on the paths, then what they call, innermost first.

    As in SystemTap, `?` marks those that may be refused a probe.
    """
    on_path = dict.fromkeys(function for path in paths for function in path)
    wanted = [
        name if text.traceable(name) else f"{name}?"
        for name in on_path
        if text.known(name)
    ]
    left_out = {*on_path, root}
    for name in text.callees((*reversed(on_path), root)):
        if name not in left_out and not sleeps.PUT_TO_SLEEP.fullmatch(name):
            wanted.append(f"{name}?")
    return tuple(wanted[:MAX_FUNCTIONS])


def _seen_share(slept: Counter[sleeps.Path], functions: tuple[str, ...]) -> float:
    """Return the share of the sleep whose innermost function is probed."""
    known = {name.rstrip("?") for name in functions}
    ns = sum(ns for path, ns in slept.items() if path and path[-1] in known)
    return ns / slept.total() if slept else 1.0


def auto(
    tracer: Tracer, start: Callable[[], Workload], log: Callable[[str], None]
) -> list[Round]:
    """Run rounds until one is the answer, the last; `log` gets a line for each."""
    rounds: list[Round] = []
    wanted: tuple[str, ...] = ()
    text = Text()
    while len(rounds) < MAX_ROUNDS:
        log(f"round {len(rounds) + 1}: {len(wanted) + 1} functions")
        last = tracer.watch(start(), wanted)
        rounds.append(last)
        slept = sleeps.paths(last.events, tracer.root)
        enough = len(rounds) > 1 and _seen_share(slept, wanted) >= sleeps.ENOUGH_SHARE
        if not last.calls or enough:
            break
        more = _wanted(text, sleeps.main(slept), tracer.root)
        if len(rounds) > 1 and set(more) <= set(wanted):
            break
        wanted = tuple(dict.fromkeys((*more, *wanted)))[:MAX_FUNCTIONS]
    return rounds
