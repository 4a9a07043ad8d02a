# SPDX-License-Identifier: GPL-2.0-only
"""jfr: read what a JVM's flight recorder says of monitors and files.

The file is what `jfr print --json` prints of jdk.JavaMonitorEnter, jdk.FileWrite and
jdk.FileForce (src/hotspot/share/jfr/metadata/metadata.xml; for files,
src/jdk.jfr/share/classes/jdk/jfr/events). A monitor's previous owner is the thread that
left it last before this one had it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from writestall.events.application_clock import UNPARSABLE, Clock, NoClockError
from writestall.events.lines import Problem
from writestall_base import files

FILE = "jvm-recording.json"
MONITOR = "jdk.JavaMonitorEnter"
# `PT1M0.36S`, ISO 8601 as java.time.Duration prints it.
DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")
NS = 1_000_000_000


class Thread(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A thread."""

    os_thread_id: int


class Values(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What one event says; `path` of a file, `previous_owner` of a monitor."""

    start_time: datetime
    duration: str
    event_thread: Thread | None = None
    previous_owner: Thread | None = None
    path: str | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    values: Values


class Events(msgspec.Struct, frozen=True, gc=False):
    events: list[Event]


class Recording(msgspec.Struct, frozen=True, gc=False):
    recording: Events


@dataclass(frozen=True, slots=True)
class Recorded:
    """One thing that took long in a JVM; times in ns, `t_ns` CLOCK_MONOTONIC.

    owner_tid  who left the monitor last before; None for a file
    """

    t_ns: int
    dur_ns: int
    tid: int
    monitor: bool
    owner_tid: int | None = None


def duration_ns(text: str) -> int:
    """A duration as java.time prints it, in ns."""
    found = DURATION.fullmatch(text)
    if not found:
        raise ValueError(f"{text!a} is no duration")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return round((hours * 3_600 + minutes * 60 + seconds) * NS)


def read(path: Path, clock: Clock) -> Iterator[Recorded | Problem]:
    """All events that a thread is known of, by time."""
    try:
        found = msgspec.json.decode(files.content(path), type=Recording)
        if clock.offset_ns is None:
            raise NoClockError
        rows = [_row(event, clock) for event in found.recording.events]
    except UNPARSABLE as error:
        yield Problem(path.name, 0, str(error))
        return
    yield from sorted(filter(None, rows), key=lambda row: row.t_ns)


def _row(event: Event, clock: Clock) -> Recorded | None:
    values = event.values
    if values.event_thread is None:
        return None
    owner = values.previous_owner
    return Recorded(
        clock.monotonic_ns(values.start_time),
        duration_ns(values.duration),
        values.event_thread.os_thread_id,
        event.type == MONITOR,
        owner.os_thread_id if owner else None,
    )
