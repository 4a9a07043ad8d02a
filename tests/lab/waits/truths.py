# SPDX-License-Identifier: GPL-2.0-only
"""truths: record requests, and how long each really waited for the disk.

The programs of this folder use it; times are CLOCK_MONOTONIC, in ns. `disk_ns` of a
request is its time in common with the fsync(2) calls that it waited for, as their own
thread or process measured them, and `calls_ns` that with write(2) before them, too:
whether one of these waited or ran, the program cannot tell.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

# When write(2) began, when fsync(2) after it began, and when that ended.
Call = tuple[int, int, int]
# Requests begin until then, and have about 2 s to end.
END_S = time.monotonic() + float(os.environ["DURATION_S"]) - 3
# Else requests read it from the machine's own disk, a page at a time.
Path(sys.executable).read_bytes()


def has_time() -> bool:
    """Whether another request is to begin."""
    return time.monotonic() < END_S


def opened(name: str) -> int:
    """A log on the slow disk, to append to."""
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def synced(log: int) -> Call:
    """Append to a log and sync it."""
    start_ns = time.monotonic_ns()
    os.write(log, b"an entry\n" * 20)
    written_ns = time.monotonic_ns()
    os.fsync(log)
    return start_ns, written_ns, time.monotonic_ns()


def bystander() -> None:
    """Start a thread that syncs a log all the time, which no request needs."""

    def audit() -> None:
        log = opened("audit.log")
        while True:
            synced(log)
            time.sleep(0.02)

    threading.Thread(target=audit, name="audit", daemon=True).start()


def in_threads(count: int, function: Callable[[int], None]) -> None:
    """Call a function in so many threads, with the number of each, to their end."""
    threads = [threading.Thread(target=function, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Truths:
    """The requests of a program, and the calls that they waited for."""

    def __init__(self) -> None:
        self._requests: list[tuple[int, int, int]] = []
        self.calls: list[Call] = []

    def ended(self, start_ns: int) -> None:
        """The calling thread's request that began then is done."""
        tid, end_ns = threading.get_native_id(), time.monotonic_ns()
        self._requests.append((start_ns, end_ns, tid))

    def write(self) -> None:
        """Write them all, once no thread makes requests any more."""
        with (Path(os.environ["OUT"]) / "requests.jsonl").open("w") as file:
            for start_ns, end_ns, tid in sorted(self._requests):
                row = {"t_ns": start_ns, "dur_ns": end_ns - start_ns, "tid": tid}
                row["disk_ns"] = self._common_ns(start_ns, end_ns, 1)
                row["calls_ns"] = self._common_ns(start_ns, end_ns, 0)
                file.write(json.dumps(row | {"what": "PUT"}) + "\n")

    def _common_ns(self, start_ns: int, end_ns: int, first: int) -> int:
        """The time that a request shares with the calls, from that one of two on."""
        windows = sorted((call[first], call[-1]) for call in self.calls)
        common_ns = 0
        for since_ns, until_ns in windows:
            common_ns += max(min(until_ns, end_ns) - max(since_ns, start_ns), 0)
        return common_ns
