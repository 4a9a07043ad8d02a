#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will let a write to a full pipe wait for its reader and find it with
slow_writes, all its bytes written and no offset: a pipe has no position."""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time

import lab

HOLD_S = 0.3
STALL_US = 200_000


def held_write() -> tuple[int, int]:
    """The writer's pid and its bytes: one more pipe's worth than fits at first."""
    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    pid = lab.child(lambda: lab.expect(os.write(writing, b"x" * 2 * size) > 0, "?"))
    os.close(writing)
    time.sleep(HOLD_S)
    while os.read(reading, size):
        pass
    os.close(reading)
    lab.expect(lab.reap(pid) == 0, "the writer failed")
    return pid, 2 * size


def test(options: argparse.Namespace) -> None:
    limit = ("--stall-us", str(STALL_US))
    with lab.tracing(
        options.modules, lab.serving(), *limit, script="slow_writes"
    ) as tracers:
        pid, size = held_write()
        for tracer in tracers:
            found = [event for event in tracer.stop() if event["tid"] == pid]
            lab.expect(len(found) == 1, f"{tracer.engine} found {found}")
            got = [found[0][key] for key in ("call", "bytes", "ret", "offset")]
            want = ["write", size, size, None]
            lab.expect(got == want, f"{tracer.engine}: {got}, not {want}")


if __name__ == "__main__":
    sys.exit(lab.main(test))
