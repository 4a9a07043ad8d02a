# SPDX-License-Identifier: GPL-2.0-only
"""commands: any program as a workload: prepare it, start it, end it.

Its shell command finds in the environment LAB, the folder on the delayed disk, where it
also begins; OUT, a folder in memory that is kept with the run; DURATION_S;
LOAD_PERCENT; TREE, this checkout; PROGRAMS, the folder of repro's own programs; and
once the injector is armed ARMED_NS, when that was (CLOCK_MONOTONIC).
"""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labrun.scenario.keys import Scenario
from labrun.scenario.kinds import Command
from labrun.setup import memory
from labrun.workloads import hdr
from labrun.workloads.clients import STOP_S, Place, Writer, record_stem
from writestall_base import TREE, process
from writestall_base.errors import StepError
from writestall_base.steps import Run

# The folder of all commands' own records, in the run directory.
RECORDS = "application"
PREPARE_S = 600
READY_S = 300
# A command without `stop` is to end by itself, and may be late.
LATE_S = 10
CONNECT_S = 1.0
# A request in a line: {"t_ns", "dur_ns", "tid", "what"}, and `intended_ns` where it was
# to start earlier (docs/applications.md); CLOCK_MONOTONIC.
REQUESTS = "requests.jsonl"


def save_requests(recorded: Path, stem: Path) -> str:
    """Write the latencies of requests as STEM.hlog, from the intended start, and
    STEM-service.hlog; return a count.

    Raises StepError at a line that is not of this form.
    """
    rows = [
        _request(recorded.name, number, line)
        for number, line in enumerate(recorded.read_text().splitlines(), 1)
    ]
    if not rows:
        return "no request"
    begun_ns = min(intended for intended, _, _ in rows)
    for name, what, at in (("", "from the intended start", 1), ("-service", "", 2)):
        pairs = ((row[0], row[at]) for row in rows)
        text = hdr.log(f"requests: ns {what}".strip(), begun_ns, pairs)
        stem.with_name(f"{stem.name}{name}.hlog").write_text(text)
    slowest_ns = max(latency for _, latency, _ in rows)
    return f"{len(rows)} requests, slowest {slowest_ns / 1e6:.1f} ms"


def _request(name: str, number: int, line: str) -> tuple[int, int, int]:
    """Return a request's intended start, latency from there, and duration, in ns."""
    try:
        found = json.loads(line)
        began_ns, dur_ns = int(found["t_ns"]), int(found["dur_ns"])
        intended_ns = min(int(found.get("intended_ns", began_ns)), began_ns)
    except (ValueError, KeyError, TypeError, AttributeError):
        want = '{"t_ns": N, "dur_ns": N, "tid": N, "what": "..."}'
        raise StepError(f"{name}:{number}: want {want}, got {line[:80]!a}") from None
    return intended_ns, began_ns + dur_ns - intended_ns, dur_ns


def chosen(scenario: Scenario) -> dict[int, Command]:
    """Return the commands of a scenario by their places among its workloads."""
    works = enumerate(scenario.workload)
    return {index: work for index, work in works if isinstance(work, Command)}


def records(folder: Path, work: Command) -> Path:
    """Return the folder of a command's own records."""
    return folder / RECORDS / work.name


def argv(work: Command, out: Path, place: Place, text: str) -> list[str]:
    """Return the command line of one of its shell commands."""
    lab = place.folder_of(work)
    variables = work.environment | {
        "LAB": lab,
        "OUT": records(out, work),
        "DURATION_S": place.duration_s,
        "LOAD_PERCENT": work.load_percent,
        "TREE": TREE,
        "PROGRAMS": place.programs,
    }
    named = [f"{name}={value}" for name, value in variables.items()]
    return ["env", f"--chdir={lab}", *named, "sh", "-c", text]


class Program(Writer):
    """A command that runs, and the others of its workload."""

    def __init__(self, run: Run, work: Command, place: Place, index: int) -> None:
        self._run, self._work, self._place = run, work, place
        self._stem, self._asked = record_stem(index, work), False
        command = self._argv(work.command)
        super().__init__(run, command, self._stem, work.name, place.group_of(work))

    def _argv(self, text: str) -> list[str]:
        command = argv(self._work, self._run.folder, self._place, text)
        return [*command[:2], *_armed(self._run), *command[2:]]

    def running(self) -> bool:
        """Return False once it has ended; raise StepError if it failed by itself."""
        if self._asked and self.process.poll() is not None:
            self.entry["exit_status"] = self.process.returncode
            return False
        return super().running()

    def serves(self) -> bool:
        """Return whether it is ready; raise StepError if it failed."""
        if not self.running():
            raise StepError(f"{self.name} ended before it served; {self.last_line()}")
        line, port = self._work.ready_line, self._work.ready_port
        return (line is None or self.has_said(line)) and (port is None or _open(port))

    def overdue(self, late_s: float) -> None:
        """End it, at once where its `stop` is known."""
        if not self._work.stop and late_s > LATE_S and not self._asked:
            self.entry["late_s"] = round(late_s, 1)
        if self._work.stop or late_s > LATE_S:
            self.end()

    def end(self) -> None:
        """End it with its `stop`, else SIGTERM; then as the other writers."""
        if self._asked:
            return
        self._asked = True
        try:
            if not self._ended():
                self._ask()
        finally:
            super().end()

    def _ask(self) -> None:
        """Ask it to end, and give it time."""
        if self._work.stop:
            # Reaped meanwhile: `stop` may wait until its process is gone.
            command, log = self._argv(self._work.stop), f"{self._stem}-stop.log"
            _carry_out(self._run, command, self._run.folder / log, STOP_S, self._ended)
        else:
            process.signal_session(self.process.pid, signal.SIGTERM)
        with suppress(StepError):
            process.wait_until(self._ended, STOP_S, None, self.name)

    def _ended(self) -> bool:
        return self.process.poll() is not None


def _armed(run: Run) -> list[str]:
    """When the injector was armed, for what follows a recording from there on."""
    steps = [step for step in run.steps if step["name"] == "arm"]
    return [f"ARMED_NS={step['start_ns'] + step['dur_ns']}" for step in steps]


def _open(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("localhost", port), CONNECT_S).close()
        return True
    return False


def _carry_out(
    run: Run,
    command: list[str],
    log: Path,
    limit_s: int,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Run a command to its end; raise StepError with its last line if it fails."""
    with log.open("wb") as file:
        child = process.start(command, file)

    def done() -> bool:
        meanwhile()
        return child.poll() is not None

    try:
        process.wait_until(done, limit_s, run.stop, log.stem)
    finally:
        process.kill(child)
    if child.returncode:
        said = log.read_text(errors="replace").strip().splitlines()
        how = process.ending(child.returncode)
        raise StepError(f"{log.stem}: {how}; {(said or ['it printed nothing'])[-1]}")


def prepare(run: Run, scenario: Scenario, place: Place) -> None:
    """Make the folders of all commands, and run what each prepares."""
    for index, work in chosen(scenario).items():
        folder = records(run.folder, work)
        folder.mkdir(parents=True)
        for path in (folder, *folder.parents[:2]):
            path.chmod(0o1777)  # programs may run as users of their own
        if work.prepare:
            with run.step(f"prepare-{work.name}"):
                command = argv(work, run.folder, place, work.prepare)
                stem = record_stem(index, work)
                log = run.folder / f"{stem}-prepare.log"
                group = place.group_of(work)
                _carry_out(run, memory.inside(group, command), log, PREPARE_S)


@contextmanager
def serving(run: Run, scenario: Scenario, place: Place) -> Iterator[dict[int, Program]]:
    """Start the commands that serve, one after another; stop them in reverse order."""
    servers: dict[int, Program] = {}
    try:
        for index, work in chosen(scenario).items():
            if work.serves:
                with run.step(f"start-{work.name}"):
                    servers[index] = Program(run, work, place, index)
                    what = f"{work.name} is not ready"
                    process.wait_until(servers[index].serves, READY_S, run.stop, what)
        yield servers
    finally:
        for server in reversed(servers.values()):
            with run.undo(f"stop-{server.name}"):
                server.end()
        if chosen(scenario):
            with run.undo("requests") as step:
                step.detail = _latencies(run, scenario)


def _latencies(run: Run, scenario: Scenario) -> str:
    """Write the latencies that commands recorded as those of other clients."""
    lines = []
    for index, work in chosen(scenario).items():
        recorded = records(run.folder, work) / REQUESTS
        if recorded.exists():
            stem = run.folder / record_stem(index, work)
            lines.append(f"{work.name}: {save_requests(recorded, stem)}")
    return "; ".join(lines) or f"no command wrote $OUT/{REQUESTS}"
