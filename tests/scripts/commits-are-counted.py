#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will force eleven commits, one of them on a stalled disk, and find as many
`commit` events as the journal itself counts, with phases that add up, and the stall in
one."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import lab

COMMITS = 11
STALLED = 7  # which of them
HOLD_S = 0.3
PHASES = ("locking_ns", "flushing_ns", "logging_ns", "finishing_ns")


def counted() -> int:
    """Transactions since mount, as counted by the journal (fs/jbd2/journal.c)."""
    (info,) = Path("/proc/fs/jbd2").glob("dm-*/info")
    return int(info.read_text().split()[0])


def settle() -> int:
    """Wait until nothing is left to commit; return the count."""
    os.sync()
    lab.run("sync", "--file-system", lab.MOUNT)
    before = -1
    while before != (now := counted()):
        before = now
        time.sleep(0.5)
    return now


def commit(name: str) -> None:
    """A new file and its fsync: one transaction. The file stays empty: with data, fsync
    would wait before it requests the commit."""
    fd = os.open(lab.MOUNT / name, os.O_WRONLY | os.O_CREAT)
    os.fsync(fd)
    os.close(fd)


def check(tracer: lab.Tracer, events: list[lab.Event], count: int, dev: str) -> None:
    who = tracer.engine
    commits = [e for e in events if e["ev"] == "commit" and e["dev"] == dev]
    lab.expect(len(commits) == count, f"{who}: {len(commits)} commits, not {count}")
    for event in commits:
        total = sum(event[phase] for phase in PHASES)
        lab.expect(total == event["dur_ns"], f"{who}: phases miss {event}")
        lab.expect(event["comm"].startswith("jbd2/dm-"), f"{who}: {event}")
        lab.expect(event["handles"] > 0 < event["blocks"], f"{who}: {event}")
    long = [e for e in commits if e["dur_ns"] >= HOLD_S * 1e9]
    lab.expect(len(long) == 1, f"{who}: {len(long)} commits of {HOLD_S} s, not 1")
    waits = [
        e["dur_ns"]
        for e in events
        if e["ev"] == "block"
        and e["tid"] == long[0]["tid"]
        and 0 <= e["t_ns"] - long[0]["t_ns"] <= long[0]["dur_ns"]
    ]
    lab.expect(sum(waits) >= HOLD_S * 0.9e9, f"{who}: its sleeps are {waits}")


def test(options: argparse.Namespace) -> None:
    with (
        lab.disk() as disk,
        lab.tracing(
            options.modules, lab.serving(), script="journal_commits"
        ) as tracers,
    ):
        before = settle()
        first_ns = time.monotonic_ns()
        for i in range(COMMITS):
            if i == STALLED:
                lab.stalled_child(disk, lambda: commit("stalled"), HOLD_S)
            else:
                commit(str(i))
        made = settle() - before
        lab.expect(made >= COMMITS, f"the journal made {made} commits only")
        for tracer in tracers:
            events = [e for e in tracer.stop() if e["t_ns"] >= first_ns]
            check(tracer, events, made, disk.dev)


if __name__ == "__main__":
    sys.exit(lab.main(test))
