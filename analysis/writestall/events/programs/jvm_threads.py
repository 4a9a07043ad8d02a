# SPDX-License-Identifier: GPL-2.0-only
"""jvm_threads: read a JVM's threads by name from its own list of them.

The kernel keeps 15 characters of a name, and a JVM has many threads that begin alike.
A JVM prints all its threads on SIGQUIT, `jcmd PID Thread.print` the same: `"NAME" #N
[TID] ...`, or `nid=TID` (src/hotspot/share/runtime/javaThread.cpp, print_on();
osThread.cpp, print_on()).
"""

from __future__ import annotations

import re
from pathlib import Path

from writestall.events.application_clock import text_lines

FILE = "jvm-threads.txt"
THREAD = re.compile(r'"(?P<name>[^"]+)".*?(?: \[(?P<tid>\d+)\]| nid=(?P<nid>\w+))')


def names(folder: Path) -> dict[int, str]:
    """The names of the threads by tid; nothing where no list was kept."""
    path = folder / FILE
    if not path.is_file():
        return {}
    found = (THREAD.match(line) for _, line in text_lines(path))
    return {int(row["tid"] or int(row["nid"], 0)): row["name"] for row in found if row}


def tids(folder: Path) -> dict[str, int]:
    """The threads by name."""
    return {name: tid for tid, name in names(folder).items()}
