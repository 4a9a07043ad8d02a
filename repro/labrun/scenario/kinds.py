# SPDX-License-Identifier: GPL-2.0-only
"""kinds: the workloads other than latwriter, and the keys of each.

`kind` is the name of the program, and the comm of its threads.
"""

# ruff: noqa: RUF009 -- key() makes a dataclass field, as dataclasses.field() does.

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labrun.scenario.schema import key, number_key
from writestall_base import TREE

FIO_JOBS = TREE / "repro/fio"
JAR_LISTS = TREE / "repro/apps"
SECOND_US = 1_000_000
NAME = r"[a-z0-9]+(-[a-z0-9]+)*"
NAME_HELP = "lower-case words joined by hyphens"
HOUR_US = 3_600_000_000
# The options of a command's shell, and of what it prepares and ends with.
COMMAND_CHARACTERS = 4_000


def kind_key(program: str) -> Any:
    return key("program that writes", program, choices=(program,))


def named_key(help: str, *default: None) -> Any:
    return key(help, *default, pattern=NAME, pattern_help=NAME_HELP)


def interval_key(help: str, *default: int) -> Any:
    return key(help, *default, unit="us", minimum=10, maximum=HOUR_US)


def slow_key(help: str) -> Any:
    return key(help, 50_000, unit="us", minimum=0, maximum=HOUR_US)


@dataclass(frozen=True, kw_only=True)
class Program:
    """The keys of every workload."""

    kind: str = key("program that writes")
    name: str = named_key("name of the file and of the logs")
    cgroup: str | None = named_key("name of the cgroup that it runs in", None)


@dataclass(frozen=True, kw_only=True)
class Client(Program):
    """The keys of every program that writes on a schedule of ours."""

    write_bytes: int = number_key("size of a write", (1, 16 << 20), unit="bytes")


@dataclass(frozen=True, kw_only=True)
class Safepoint(Client):
    """Threads that work, and are all stopped while a line is logged."""

    kind: str = kind_key("safepoint")
    interval_us: int = interval_key("time between two intended stops of all threads")
    threads: int = number_key("threads that work and are stopped", (1, 1024), 8)
    unit_interval_us: int = interval_key(
        "time between two intended units of work of one thread", 10_000
    )
    unit_us: int = number_key("CPU time of a unit of work", (1, HOUR_US), 100, "us")
    asynchronous: bool = key("a separate thread writes the log", False)
    on_tmpfs: bool = key("the log is on a tmpfs, not on the scratch disk", False)
    slow_us: int = slow_key(
        "pauses and calls of at least this length go to the slow log"
    )


@dataclass(frozen=True, kw_only=True)
class Broker(Client):
    """Threads that serve requests by appending to partitions, each under a lock."""

    kind: str = kind_key("broker")
    interval_us: int = interval_key("time between two intended requests")
    partitions: int = number_key("logs, each with a lock of its own", (1, 1024), 4)
    threads: int = number_key("threads that serve requests", (1, 1024), 8)
    slow_us: int = slow_key(
        "requests and calls of at least this length go to the slow log"
    )


def shell_key(help: str, *default: str | None) -> Any:
    return key(help, *default, characters=COMMAND_CHARACTERS)


# What a command finds in its environment in any case.
GIVEN = ("LAB", "OUT", "DURATION_S", "LOAD_PERCENT", "TREE", "PROGRAMS", "ARMED_NS")


def environment_key(help: str) -> Any:
    name, name_help = r"[A-Z][A-Z0-9_]*", "a variable's name like GC_LOG"
    return key(help, dict, pattern=name, pattern_help=name_help)


@dataclass(frozen=True, kw_only=True)
class Command(Program):
    """Any program, by its shell command."""

    kind: str = kind_key("command")
    command: str = shell_key("shell command that runs it, in the foreground")
    prepare: str | None = shell_key(
        "shell command that must end before anything is delayed or traced", None
    )
    ready_line: str | None = key(
        "it is ready once a line of its output has this text; started before anything"
        " is delayed or traced",
        None,
    )
    ready_port: int | None = number_key(
        "it is ready once this TCP port of localhost accepts; started as early",
        (1, 65_535),
        None,
    )
    stop: str | None = shell_key("shell command that ends it, instead of SIGTERM", None)
    load_percent: int = number_key(
        "share of its load to ask for, `LOAD_PERCENT`", (1, 10_000), 100, "%"
    )
    environment: dict[str, str | int] = environment_key("more variables for it")

    @property
    def serves(self) -> bool:
        """Whether it is started first, and runs until the others have ended."""
        return self.ready_line is not None or self.ready_port is not None


@dataclass(frozen=True, kw_only=True)
class Fio(Client):
    """fio with a job file; size, schedule and file come from the scenario."""

    kind: str = kind_key("fio")
    job: str = named_key("a job file of repro/fio, without .fio")
    interval_us: int = interval_key("time between two intended writes of one process")
    slow_us: int = slow_key("calls of at least this length go to the slow log")

    @property
    def job_file(self) -> Path:
        return FIO_JOBS / f"{self.job}.fio"
