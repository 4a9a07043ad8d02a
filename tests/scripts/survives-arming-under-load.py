#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will arm and disarm each tracer many times while two tasks write, and find
every cycle in order and no complaint in the kernel log."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from functools import partial

import lab

COMPLAINT = re.compile(r"WARNING:|BUG:|Oops|Call Trace|rcu_sched self-detected|hung")


def write_for_ever(name: str) -> None:
    """Ten writes, then a short sleep: a tracer's compiler needs the CPUs, too."""
    fd = os.open(lab.MOUNT / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for count in range(1 << 60):
        os.pwrite(fd, b"x" * 200, count % 5000 * 200)
        if count % 10 == 0:
            time.sleep(0.005)


def cycles(engine: str, options: argparse.Namespace) -> None:
    for cycle in range(options.cycles):
        with lab.tracing(options.modules, (engine,)) as (tracer,):
            try:
                tracer.stop()
            except lab.FoundError as error:
                raise lab.FoundError(f"cycle {cycle}: {error}") from error


def test(options: argparse.Namespace) -> None:
    with lab.disk():
        writers = [lab.child(partial(write_for_ever, name)) for name in ("one", "two")]
        try:
            for engine in options.engine or lab.serving():
                cycles(engine, options)
            alive = [lab.state_of(pid) for pid in writers]
            lab.expect("Z" not in alive, f"the writers are {alive}")
        finally:
            for pid in writers:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    found = [line for line in lab.run("dmesg").splitlines() if COMPLAINT.search(line)]
    lab.expect(not found, f"the kernel said {found[:3]}")


if __name__ == "__main__":
    sys.exit(lab.main(test))
