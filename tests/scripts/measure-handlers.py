#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure-handlers: measure what handlers of stalled_writes cost a call and a sleep.

Runs inside a guest whose clock counts instructions. A task syncs a file of a tmpfs,
which does nothing (mm/shmem.c, noop_fsync()): the probe at the call's entry. Two tasks
wake each other through pipes: the handlers of a switch and a wake-up, of all tasks, and
of tasks whose interruptible sleeps are listed. Prints JSON: ns per fsync(2), and per
round trip with two sleeps, of the quickest of ROUNDS rounds; without a tracer, under
each engine, and with --waits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

import lab

CALLS, ROUNDS = 20_000, 5
# For what the tracer has to do with the sleeps of its beginning.
SETTLES_S = 3.0


def per_call_ns(call: Callable[[], object]) -> float:
    begun_ns = time.monotonic_ns()
    for _ in range(CALLS):
        call()
    return (time.monotonic_ns() - begun_ns) / CALLS


def echo(there: tuple[int, int], back: tuple[int, int]) -> None:
    """Answer each byte until the other end is closed."""
    os.close(there[1])
    while text := os.read(there[0], 1):
        os.write(back[1], text)


def settle() -> None:
    """Let time pass without a sleep that would be listed."""
    until_s = time.monotonic() + SETTLES_S
    while time.monotonic() < until_s:
        pass


def measure(options: argparse.Namespace) -> None:
    fd = os.open("/dev/shm/synced", os.O_RDWR | os.O_CREAT)
    there, back = os.pipe(), os.pipe()
    lab.child(lambda: echo(there, back))

    def round_trip() -> None:
        os.write(there[1], b"x")
        os.read(back[0], 1)

    waits = "--waits", str(os.getpid())
    ways: list[tuple[str, ...]] = [(), *((engine,) for engine in lab.serving())]
    ways += [(engine, *waits) for engine in lab.serving()]
    found: dict[str, dict[str, float]] = {"fsync": {}, "round trip": {}}
    for engine, *words in [way or ("none",) for way in ways] * ROUNDS:
        engines = () if engine == "none" else (engine,)
        name = f"{engine} --waits" if words else engine
        with lab.tracing(options.modules, engines, *words):
            settle()
            for what, call in (
                ("fsync", lambda: os.fsync(fd)),
                ("round trip", round_trip),
            ):
                took_ns = per_call_ns(call)
                found[what][name] = round(min(found[what].get(name, took_ns), took_ns))
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(lab.main(measure))
