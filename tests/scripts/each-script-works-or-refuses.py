#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will start each script with each engine, and find it telling of what was
made to happen before it, or refusing in one line that says what to use instead.

What it found is a line for each, which docs/kernel-support.md is made of.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import lab

# What a script tells of, of all that happens here, and the options it needs.
TELLS = {
    "drilldown": ("call", ("--functions", "vfs_write")),
    "journal_commits": ("commit", ()),
    "page_locks": ("page_lock", ()),
    "slow_writes": ("write", ()),
    "stalled_writes": ("write", ()),
}
PAGE = 4096
HOLD_S = 0.3


def scripts() -> list[str]:
    """Those of either engine."""
    found = [*lab.PROJECT.glob("stap/*.stp"), *lab.PROJECT.glob("bpf/*.bt")]
    return sorted({path.stem for path in found})


def write() -> None:
    """A write that needs the disk."""
    fd = os.open(lab.MOUNT / "written", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    os.write(fd, b"x" * 200)


def read() -> None:
    """A page that is not in memory: its reader waits for the page's lock."""
    os.pread(os.open(lab.MOUNT / "read", os.O_RDONLY | os.O_NOATIME), 1, 0)


def happen(disk: lab.Disk) -> None:
    """A stalled write, a wait for a page and a commit, in that order."""
    path = lab.MOUNT / "read"
    path.write_bytes(b"y" * PAGE)
    os.sync()
    with path.open() as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    for body in (write, read):
        lab.stalled_child(disk, body, HOLD_S)
    path.unlink()
    os.sync()


def refusal(tracer: lab.Tracer) -> str:
    """The one line of a launcher that traced nothing."""
    said = tracer.messages.read_text()
    who = f"{tracer.engine} {tracer.script}"
    lab.expect(tracer.process.returncode in (1, 2), f"{who} died: {said}")
    lab.expect(said.count("\n") == 1, f"{who} refuses in more than a line: {said}")
    lab.expect("; use " in said, f"{who} does not say what to use: {said}")
    return said.strip()


def verdict(disk: lab.Disk, engine: str, script: str, modules: Path) -> str:
    """How a script refuses; nothing where it works."""
    kind, options = TELLS[script]
    tracer = lab.Tracer(engine, script, modules, *options)
    try:
        lab.until(lambda: tracer.lines() > 0 or tracer.process.poll() is not None)
        if tracer.process.poll() is not None:
            return refusal(tracer)
        happen(disk)
        kinds = {event["ev"] for event in tracer.stop()}
    finally:
        tracer.end()
    lab.expect(kind in kinds, f"{engine} {script} told of {kinds}, of no {kind}")
    return ""


def test(options: argparse.Namespace) -> None:
    wrong = []
    with lab.disk() as disk:
        for script in scripts():
            for engine in lab.ENGINES:
                row = {"script": script, "engine": engine}
                try:
                    row["refuses"] = verdict(disk, engine, script, options.modules)
                except lab.FoundError as error:
                    wrong.append(str(error))
                    row["fails"] = str(error)
                row["release"] = os.uname().release
                print(f"support: {json.dumps(row)}", flush=True)
    lab.expect(not wrong, "; ".join(wrong))


if __name__ == "__main__":
    sys.exit(lab.main(test))
