# SPDX-License-Identifier: GPL-2.0-only
"""application: read the pauses and requests that an application recorded.

docs/events.md, "The client's record", has the lines; latwriter is no application: its
slow writes are all it knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from writestall.events import application_complaints
from writestall.events.application_clock import Complaint
from writestall.events.application_complaints import Complaints
from writestall.events.contract import ClientWrite, Pause, Request
from writestall.events.hlog import Latencies, read_log
from writestall.events.lines import Problem
from writestall.events.rows import R, read_first, read_records
from writestall.events.run_directory import RunDir

SAFEPOINT, BROKER = "safepoint", "broker"
# Any program, by what it said itself.
COMMAND = "command"
# What the latencies of `writer.hlog` are of.
COUNTED = {SAFEPOINT: "units of work", BROKER: "requests", COMMAND: "requests"}


@dataclass(slots=True)
class Application:
    """One application's record; rows are the slow ones, by time.

    slow_ns     least length of a pause or request that has a row
    pauses_all  all pauses, `service` all writes: from their histograms
    """

    program: str
    slow_ns: int = 0
    asynchronous: bool = False
    pauses: list[Pause] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    writes: list[ClientWrite] = field(default_factory=list)
    complaints: Complaints = field(default_factory=Complaints)
    pauses_all: Latencies | None = None
    service: Latencies | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def counted(self) -> str:
        """What `writer.hlog` counts."""
        return COUNTED[self.program]

    @property
    def tids(self) -> set[int]:
        """The threads that wrote, as far as rows name them."""
        rows: list[Pause | Request | ClientWrite | Complaint]
        rows = [*self.pauses, *self.requests, *self.writes, *self.complaints.rows]
        return {row.tid for row in rows if row.tid is not None}


def read_application(run: RunDir) -> Application | None:
    """The record of the run's first workload; None where that is no application."""
    path = run.path / "writer.jsonl"
    begin = read_first(path)
    program = begin.get("program")
    if not isinstance(program, str) or program not in COUNTED:
        return _command(run)
    slow_ns = begin.get("slow_ns")
    found = Application(program, slow_ns if isinstance(slow_ns, int) else 0)
    found.asynchronous = begin.get("async") is True

    def rows(kind: type[R]) -> list[R]:
        records = read_records(path, kind)
        found.problems += records.problems
        return records.rows

    found.writes = rows(ClientWrite)
    found.service = _latencies(run, "writer-service.hlog", found)
    if program == SAFEPOINT:
        found.pauses = rows(Pause)
        found.pauses_all = _latencies(run, "writer-pause.hlog", found)
    else:
        found.requests = rows(Request)
    return found


def is_unrecorded(run: RunDir) -> bool:
    """Whether no client recorded a request and none is missing: a command's run, or
    that of a host."""
    works = run.get("scenario", "workload")
    first = works[0] if isinstance(works, list) and works else {}
    command = isinstance(first, dict) and first.get("kind") == COMMAND
    return (command or run.of_host) and not (run.path / "writer.hlog").exists()


def _command(run: RunDir) -> Application | None:
    """What a command of the run said itself; None without a log of one."""
    complaints = application_complaints.read_complaints(run)
    if not complaints.logs:
        return None
    found = Application(COMMAND, complaints=complaints)
    found.problems += complaints.problems
    found.service = _latencies(run, "writer-service.hlog", found)
    return found


def _latencies(run: RunDir, name: str, found: Application) -> Latencies | None:
    log = read_log(run.path / name)
    found.problems += log.problems
    return log.latencies
