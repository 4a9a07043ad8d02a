# SPDX-License-Identifier: GPL-2.0-only
"""application_complaints: read what programs said of their own slow moments.

A command's folder of a run, application/NAME, holds its logs (docs/applications.md).
The name of a log says who wrote it, and so who reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from writestall.events.application_clock import Clock, Complaint, NoClockError
from writestall.events.lines import Problem
from writestall.events.programs import (
    etcd,
    jfr,
    jvm,
    kafka,
    lines,
    mariadb,
    postgresql,
    redis,
)
from writestall.events.run_directory import RunDir

FOLDER = "application"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Program:
    """Who reads a log, and what is known of the program's threads.

    comms      its threads, where a complaint names none; empty: those that it names
    unwaited   threads that work alone: nobody waits for a call of theirs
    """

    read: Callable[[Path, Clock], Iterator[Complaint | Problem]]
    comms: tuple[str, ...] = ()
    unwaited: tuple[str, ...] = ()


# Those that append, and those that roll, flush and delete segments.
KAFKA_THREADS = ("data-plane-kafk", "kafka-scheduler")
PROGRAMS = {
    "requests.jsonl": Program(lines.read),
    "postgresql.log": Program(postgresql.read, ("postgres",)),
    # With -Xlog:async its own thread writes the log (src/hotspot/share/logging/
    # logAsyncWriter.hpp, name()).
    "jvm-safepoint.log": Program(jvm.read, unwaited=("AsyncLog Thread",)),
    "kafka.log": Program(kafka.read, KAFKA_THREADS),
    "mariadb-statements.tsv": Program(mariadb.read, ("mariadbd",)),
    "etcd.log": Program(etcd.read, ("etcd",)),
    # Its background threads (src/bio.c): the main thread looks whether they have
    # ended and goes on if not (src/aof.c, flushAppendOnlyFile()).
    "redis-latency.log": Program(
        redis.read,
        ("redis-server",),
        ("bio_aof", "bio_close_file", "bio_lazy_free"),
    ),
}


@dataclass(slots=True)
class Complaints:
    """All complaints of a run by time, and the logs they come from.

    unjoined  those of no thread: no tid, and the program's threads are not known
    recorded  what the flight recorders of its JVMs say, a second witness
    names     the whole names of threads, by tid
    """

    rows: list[Complaint] = field(default_factory=list)
    unjoined: list[Complaint] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    recorded: list[jfr.Recorded] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
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
            for row in _kept(path, program.read(path, clock), found.problems):
                joined = row.tid is not None or program.comms
                (found.rows if joined else found.unjoined).append(row)
        elif path.name == jfr.FILE:
            found.recorded += _kept(path, jfr.read(path, clock), found.problems)
        elif path.name == jvm.THREADS_FILE:
            found.names |= jvm.names(path.parent)
    found.rows.sort(key=lambda row: row.t_ns)
    return found


def _kept(
    path: Path, rows: Iterable[T | Problem], problems: list[Problem]
) -> Iterator[T]:
    """The rows of a log; what is a problem goes to the others."""
    try:
        for row in rows:
            if isinstance(row, Problem):
                problems.append(row)
            else:
                yield row
    except NoClockError:
        why = "no clock in manifest.json to read its times by"
        problems.append(Problem(path.name, 0, why))
