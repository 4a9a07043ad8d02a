# SPDX-License-Identifier: GPL-2.0-only
"""accuracy: measure the latency of writes with each injector and delay."""

from __future__ import annotations

from typing import TypedDict

from injectors import Injector
from job import latencies_ns

# Delay in ns, writes per round; 0 is the disk without an injected delay.
DELAYS = {0: 400, 100_000: 400, 1_000_000: 400, 10_000_000: 200, 300_000_000: 10}


class Arm(TypedDict):
    """An injector with one delay; `latencies_ns` has the writes of all rounds."""

    injector: str
    base: str
    delay_ns: int
    latencies_ns: list[int]


def arms(injectors: tuple[Injector, ...]) -> list[tuple[Injector, Arm]]:
    """Every injector with every delay that it supports, not measured yet."""
    return [
        (one, Arm(injector=one.name, base=one.base, delay_ns=delay, latencies_ns=[]))
        for delay in DELAYS
        for one in injectors
        if delay % one.step_ns == 0
    ]


def measure(injectors: tuple[Injector, ...], rounds: int) -> list[Arm]:
    """Measure every arm once per round, so that drift affects all equally."""
    every = arms(injectors)
    for _ in range(rounds):
        for injector, arm in every:
            with injector.delayed(arm["delay_ns"]) as disk:
                found = latencies_ns(disk, DELAYS[arm["delay_ns"]])
            arm["latencies_ns"] += found
    return [arm for _, arm in every]
