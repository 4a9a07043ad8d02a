#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure-entries: measure what a probe at its entry costs a call.

Runs inside a guest whose clock counts instructions. A task syncs a file of a tmpfs,
which does nothing (mm/shmem.c, noop_fsync()), without a tracer and under
stalled_writes of each engine, in turn. Prints JSON: nanoseconds per fsync(2), of the
quickest of ROUNDS rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import lab

CALLS, ROUNDS = 20_000, 5


def per_call_ns(fd: int) -> float:
    begun_ns = time.monotonic_ns()
    for _ in range(CALLS):
        os.fsync(fd)
    return (time.monotonic_ns() - begun_ns) / CALLS


def measure(options: argparse.Namespace) -> None:
    fd = os.open("/dev/shm/synced", os.O_RDWR | os.O_CREAT)
    engines = (None, *lab.serving())
    found: dict[str, float] = {}
    for engine in engines * ROUNDS:
        with lab.tracing(options.modules, (engine,) if engine else ()):
            name = engine or "none"
            found[name] = min(found.get(name, float("inf")), per_call_ns(fd))
    print(json.dumps({name: round(ns) for name, ns in found.items()}))


if __name__ == "__main__":
    sys.exit(lab.main(measure))
