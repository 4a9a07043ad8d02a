# SPDX-License-Identifier: GPL-2.0-only
"""application_clock: a complaint of a program, and its time on the tracers' clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TypeVar

from writestall.events.decode import UNREADABLE
from writestall.events.lines import Problem
from writestall.events.run_directory import RunDir
from writestall_base import files
from writestall_base.units import US_NS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_NS = 1 << 62
T = TypeVar("T")
# What a number, a duration or a time of day that a program would not write raises.
UNPARSABLE = (*UNREADABLE, ValueError, OverflowError, OSError)


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of a complaint, as the program itself split it.

    worked  the complaint's thread works on it: its calls then are the complaint's own
    queued  it waits in a queue for that thread, which works on others meanwhile
    """

    name: str
    dur_ns: int
    worked: bool = True
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a program said took long; times in ns, `t_ns` CLOCK_MONOTONIC.

    tid       the thread that it is about; None: the program's log does not name it
    comm      the name of that thread, or of the program's threads
    slack_ns  how far the times may be off: a log's clock has a grain
    noun      what it is one of, so that several can be counted
    stages    its parts in order, which add up to it; none where the log has none
    stops     all threads of the program stand still meanwhile
    alone     its thread serves nobody else meanwhile: all its waits are for this
    """

    program: str
    t_ns: int
    dur_ns: int
    what: str
    tid: int | None = None
    comm: str | None = None
    slack_ns: int = 0
    noun: str = "request"
    stages: tuple[Stage, ...] = ()
    stops: bool = False
    alone: bool = False

    def __post_init__(self) -> None:
        if not (abs(self.t_ns) <= MOST_NS and 0 <= self.dur_ns <= MOST_NS):
            raise ValueError("a time or a duration out of range")

    @property
    def end_ns(self) -> int:
        return self.t_ns + self.dur_ns

    @property
    def guessed(self) -> bool:
        """Whether its own calls are only known by the time and the name of a thread."""
        return self.tid is None


class NoClockError(Exception):
    """A log in time of day, in a run whose clocks are not known."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Map time of day to CLOCK_MONOTONIC, as both stood when the run began."""

    offset_ns: int | None

    @staticmethod
    def of(run: RunDir) -> Clock:
        """The clocks of a run; without a manifest, no time of day can be mapped."""
        there = run.realtime_ns(0)
        return Clock(None if there is None else -there)

    def monotonic_ns(self, at: datetime) -> int:
        """CLOCK_MONOTONIC of a time of day; raises NoClockError, and ValueError for one
        without a zone."""
        if self.offset_ns is None:
            raise NoClockError
        if at.tzinfo is None:
            raise ValueError(f"{at}: a time without its zone")
        since = at - EPOCH
        whole_us = (since.days * 86_400 + since.seconds) * 1_000_000
        return (whole_us + since.microseconds) * US_NS + self.offset_ns


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a log with their numbers."""
    with TextIOWrapper(files.opened(path), "utf-8", "replace") as file:
        yield from enumerate(file, 1)


def parsed_lines(path: Path, parse: Callable[[str], T | None]) -> Iterator[T | Problem]:
    """What is made of each line of a log; None of a line that is of no interest. A line
    with what no program writes there is a problem."""
    for number, line in text_lines(path):
        try:
            found = parse(line)
        except UNPARSABLE as error:
            yield Problem(path.name, number, str(error))
            continue
        if found is not None:
            yield found
