# SPDX-License-Identifier: GPL-2.0-only
"""jvm: read the safepoint lines of a JVM's unified log, and its list of threads.

`-Xlog:safepoint:file=FILE:timenanos,tid` stamps a line with CLOCK_MONOTONIC
(src/hotspot/share/logging/logDecorations.cpp, os::javaTimeNanos()) and the thread that
logs, which is the VM thread. `Total` is the time from the request for the safepoint
until the threads were released (src/hotspot/share/runtime/safepoint.cpp,
SafepointTracing::end()).

The kernel keeps 15 characters of a name, and a JVM has many threads that begin alike.
A JVM prints all its threads on SIGQUIT, `jcmd PID Thread.print` the same: `"NAME" #N
[TID] ...`, or `nid=TID` (src/hotspot/share/runtime/javaThread.cpp, print_on();
osThread.cpp, print_on()).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from writestall.events.application_clock import (
    Clock,
    Complaint,
    parsed_lines,
    text_lines,
)
from writestall.events.lines import Problem

SAFEPOINT = re.compile(
    r'\[(?P<at>\d+)ns\](?:\[\D[^]]*\])*\[(?P<tid>\d+)\].*\bSafepoint "(?P<why>\w+)".*'
    r"\bTotal: +(?P<took>\d+) ns"
)
NOUN = "safepoint pause"
THREADS_FILE = "jvm-threads.txt"
THREAD = re.compile(
    r'"(?P<name>[^"]+)".*?'
    r"(?: \[(?P<tid>\d{1,10})\]| nid=(?P<nid>0x[\da-f]{1,8}|\d{1,10})\b)"
)


def read(path: Path, _: Clock) -> Iterator[Complaint | Problem]:
    """The pauses; each ended when its line was stamped."""
    return parsed_lines(path, _pause)


def _pause(line: str) -> Complaint | None:
    if not (found := SAFEPOINT.match(line)):
        return None
    dur_ns, tid = int(found["took"]), int(found["tid"])
    what, start_ns = f"safepoint {found['why']}", int(found["at"]) - dur_ns
    return Complaint("jvm", start_ns, dur_ns, what, tid, noun=NOUN, stops=True)


def names(folder: Path) -> dict[int, str]:
    """The names of the threads by tid; nothing where no list was kept."""
    path = folder / THREADS_FILE
    if not path.is_file():
        return {}
    found = (THREAD.match(line) for _, line in text_lines(path))
    return {int(row["tid"] or int(row["nid"], 0)): row["name"] for row in found if row}
