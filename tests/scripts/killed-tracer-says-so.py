#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will kill each tracer during its work and find complete lines, no `end`, a
launcher that fails with one line, and nothing left behind."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import lab


def worker(tracer: lab.Tracer) -> int:
    """The process that does the engine's work."""
    for pid in lab.descendants(tracer.process.pid):
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        if name == lab.WORKERS[tracer.engine]:
            return pid
    raise lab.FoundError(f"no {lab.WORKERS[tracer.engine]} below the launcher")


def sync(path: Path) -> None:
    os.fsync(os.open(path, os.O_RDWR))


def busy(disk: lab.Disk) -> None:
    """Cause a few events."""
    for i in range(5):
        path = lab.MOUNT / f"{i}.log"
        path.write_bytes(b"x")
        lab.stalled_child(disk, partial(sync, path), 0.02)


def left_behind(engine: str) -> str:
    """What a dead tracer has left behind: its module, its programs."""
    if engine == "stap":
        return lab.run("grep", "-c", "", "/proc/modules") and "\n".join(
            line
            for line in Path("/proc/modules").read_text().splitlines()
            if line.startswith("stalled_writes ")
        )
    return "\n".join(
        comm
        for comm in (path.read_text() for path in Path("/proc").glob("[0-9]*/comm"))
        if comm.strip() == lab.WORKERS[engine]
    )


def kill(engine: str, options: argparse.Namespace, disk: lab.Disk) -> None:
    with lab.tracing(options.modules, (engine,), "--floor-us", "100") as (tracer,):
        busy(disk)
        lab.until(lambda: tracer.lines() > 3)
        os.kill(worker(tracer), signal.SIGKILL)
        status = tracer.process.wait(timeout=lab.ARMED_WITHIN_S)
        lab.expect(status == 1, f"{engine}: the launcher ended with {status}")
        events = tracer.events()
        lab.expect(events[0]["ev"] == "begin", f"{engine}: no begin")
        lab.expect(events[-1]["ev"] != "end", f"{engine}: an `end` from the grave")
        lab.expect("cut off" in tracer.complaint(), f"{engine}: {tracer.complaint()}")
        time.sleep(1)  # an orderly exit of the kernel's side may take a moment
        lab.expect(not left_behind(engine), f"{engine} left {left_behind(engine)}")


def test(options: argparse.Namespace) -> None:
    with lab.disk() as disk:
        for engine in lab.serving():
            kill(engine, options, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
