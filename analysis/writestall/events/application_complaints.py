# SPDX-License-Identifier: GPL-2.0-only
"""application_complaints: read what programs said of their own slow moments.

A command's folder of a run, application/NAME, holds its logs (docs/applications.md).
The name of a log says who wrote it, and so who reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from writestall.events import (
    application_etcd,
    application_jvm,
    application_lines,
    application_postgresql,
    application_redis,
)
from writestall.events.application_clock import Clock, Complaint
from writestall.events.lines import Problem
from writestall.events.run_directory import RunDir

FOLDER = "application"


@dataclass(frozen=True, slots=True)
class Program:
    """Who reads a log, and what is known of the program's threads.

    comms      its threads, where a complaint names none; empty: those that it names
    unwaited   threads that work alone: nobody waits for a call of theirs
    """

    read: Callable[[Path, Clock], Iterator[Complaint | Problem]]
    comms: tuple[str, ...] = ()
    unwaited: tuple[str, ...] = ()


PROGRAMS = {
    "requests.jsonl": Program(application_lines.read),
    "postgresql.log": Program(application_postgresql.read, ("postgres",)),
    "jvm-safepoint.log": Program(application_jvm.read),
    "etcd.log": Program(application_etcd.read, ("etcd",)),
    # Its background threads (src/bio.c): the main thread looks whether they have
    # ended and goes on if not (src/aof.c, flushAppendOnlyFile()).
    "redis-latency.log": Program(
        application_redis.read,
        ("redis-server",),
        ("bio_aof", "bio_close_file", "bio_lazy_free"),
    ),
}


@dataclass(slots=True)
class Complaints:
    """All complaints of a run by time, and the logs they come from."""

    rows: list[Complaint] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def comms(self) -> set[str]:
        """The names of the programs' threads, as far as they are known beforehand."""
        return {comm for log in self.logs for comm in PROGRAMS[log].comms}

    @property
    def unwaited(self) -> set[str]:
        """The names of threads for whose calls nobody waits."""
        return {comm for log in self.logs for comm in PROGRAMS[log].unwaited}


def read_complaints(run: RunDir) -> Complaints:
    """What the run's programs said; nothing without a log that has a reader."""
    found = Complaints()
    clock = Clock.of(run)
    for path in sorted((run.path / FOLDER).glob("*/*")):
        if program := PROGRAMS.get(path.name):
            found.logs.append(path.name)
            for row in program.read(path, clock):
                if isinstance(row, Problem):
                    found.problems.append(row)
                else:
                    found.rows.append(row)
    found.rows.sort(key=lambda row: row.t_ns)
    return found
