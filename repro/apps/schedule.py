# SPDX-License-Identifier: GPL-2.0-only
"""schedule: threads that make requests at intended times, and record each.

A line of $OUT/requests.jsonl is one request (docs/applications.md). The intended times
go on while a request takes long, so a stall counts for all that it keeps from starting.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

NS = 1_000_000_000
MS_NS = 1_000_000
VARIABLES = ("OUT", "DURATION_S", "LOAD_PERCENT")
Request = Callable[[], None]


class _Thread(threading.Thread):
    """One client: its connection, and its share of the schedule."""

    def __init__(
        self, connect: Callable[[], Request], start: dict[str, bool], out: IO[str]
    ) -> None:
        super().__init__()
        self._connect, self._what, self._out = connect, start, out
        self.intended_ns = self.interval_ns = self.end_ns = 0
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            self._run()
        except Exception as error:  # raised again by the thread that waits
            self.failure = error

    def _run(self) -> None:
        request = self._connect()
        ((what, own),) = self._what.items()
        about = {"what": what} | ({"tid": threading.get_native_id()} if own else {})
        while self.intended_ns < self.end_ns:
            time.sleep(max(0, self.intended_ns - time.monotonic_ns()) / NS)
            t_ns = time.monotonic_ns()
            request()
            dur_ns = time.monotonic_ns() - t_ns
            row = {"t_ns": t_ns, "dur_ns": dur_ns, "intended_ns": self.intended_ns}
            self._out.write(json.dumps(row | about) + "\n")
            self.intended_ns += self.interval_ns


def parser(what: str, interval_ms: int, threads: int = 4) -> argparse.ArgumentParser:
    """The options of a schedule, and its defaults."""
    made = argparse.ArgumentParser(description=what, allow_abbrev=False)
    add = made.add_argument
    clients = f"clients ({threads})"
    add("--threads", type=int, default=threads, metavar="N", help=clients)
    each = f"between two requests of one client ({interval_ms})"
    add("--interval-ms", type=int, default=interval_ms, metavar="MS", help=each)
    return made


def run(
    connect: Callable[[], Request],
    what: str,
    asked: argparse.Namespace,
    own: bool = False,
) -> None:
    """Make requests for $DURATION_S, each thread one every interval.

    `connect` is called by each thread. `own`: the threads themselves write to the
    disk, so that a tracer's calls are theirs.
    """
    lacking = [name for name in VARIABLES if name not in os.environ]
    if lacking:
        sys.exit(f"{sys.argv[0]}: no {lacking[0]} in the environment; use make lab")
    threads = asked.threads
    interval_ns = asked.interval_ms * MS_NS * 100 // int(os.environ["LOAD_PERCENT"])
    begin_ns = time.monotonic_ns()
    with Path(os.environ["OUT"], "requests.jsonl").open("w", buffering=1) as out:
        clients = [_Thread(connect, {what: own}, out) for _ in range(threads)]
        for number, client in enumerate(clients):
            client.interval_ns = interval_ns
            client.intended_ns = begin_ns + interval_ns * number // threads
            client.end_ns = begin_ns + int(os.environ["DURATION_S"]) * NS
            client.start()
        for client in clients:
            client.join()
            if client.failure:
                raise client.failure
