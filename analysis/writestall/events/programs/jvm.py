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

from writestall.events.application_clock import Clock, Complaint, text_lines
from writestall.events.lines import Problem

SAFEPOINT = re.compile(
    r'\[(?P<at>\d+)ns\](?:\[\D[^]]*\])*\[(?P<tid>\d+)\].*\bSafepoint "(?P<why>\w+)".*'
    r"\bTotal: +(?P<took>\d+) ns"
)
NOUN = "safepoint pause"
THREADS_FILE = "jvm-threads.txt"
THREAD = re.compile(r'"(?P<name>[^"]+)".*?(?: \[(?P<tid>\d+)\]| nid=(?P<nid>\w+))')


def read(path: Path, _: Clock) -> Iterator[Complaint | Problem]:
    """The pauses; each ended when its line was stamped."""
    for _number, line in text_lines(path):
        if found := SAFEPOINT.match(line):
            dur_ns, tid = int(found["took"]), int(found["tid"])
            what = f"safepoint {found['why']}"
            start_ns = int(found["at"]) - dur_ns
            yield Complaint("jvm", start_ns, dur_ns, what, tid, noun=NOUN, stops=True)


def names(folder: Path) -> dict[int, str]:
    """The names of the threads by tid; nothing where no list was kept."""
    path = folder / THREADS_FILE
    if not path.is_file():
        return {}
    found = (THREAD.match(line) for _, line in text_lines(path))
    return {int(row["tid"] or int(row["nid"], 0)): row["name"] for row in found if row}
