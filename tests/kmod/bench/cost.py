# SPDX-License-Identifier: GPL-2.0-only
"""cost: measure the IOPS of a fast disk with the module loaded and armed, and what a
heartbeat takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from injectors import NULL_BLK, module
from job import intervals_ns

WRITES = 10_000
BEATS = 100
PARAMETERS = Path("/sys/module/biodelay/parameters")
# No task's comm: all selectors are compared for every bio of the disk.
NOBODY = ("submitter=nobody-at-all", "delay_us=1000", "enabled=1")


def arms(
    biodelay: Path, empty_probe: Path, other_disk: str
) -> dict[str, Callable[[], AbstractContextManager[None]]]:
    """The state of the module during each measurement.

    `unloaded again` shows the noise; `empty kprobe` is what the kernel takes to call a
    probe like that of biodelay, whatever that does.
    """
    loaded = partial(module, biodelay)
    return {
        "unloaded": nullcontext,
        "disarmed": partial(loaded, f"device={NULL_BLK.name}", "delay_us=1000"),
        "empty kprobe": partial(module, empty_probe),
        "armed, another disk": partial(loaded, f"device={other_disk}", *NOBODY[1:]),
        "armed, nothing matches": partial(loaded, f"device={NULL_BLK.name}", *NOBODY),
        "unloaded again": nullcontext,
    }


def measure(
    every: dict[str, Callable[[], AbstractContextManager[None]]], rounds: int
) -> list[dict[str, float]]:
    """IOPS of each arm in each round, by its median write.

    A busy host stops the machine for milliseconds: this makes few writes very slow, but
    does not change the median.
    """
    return [{name: _iops(arm) for name, arm in every.items()} for _ in range(rounds)]


def _iops(arm: Callable[[], AbstractContextManager[None]]) -> float:
    with arm():
        return 1e9 / statistics.median(intervals_ns(NULL_BLK, WRITES))


def attribute_writes_ns(biodelay: Path) -> dict[str, float]:
    """CPU time to write an attribute of an armed rule once, in ns.

    `device` runs the guard on the disk, `heartbeat_ms` does not. Each then sleeps
    until no CPU uses the rule of before (kmod/rule.c).
    """
    values = {"heartbeat_ms": "60000", "device": NULL_BLK.name}
    with module(biodelay, f"device={NULL_BLK.name}", *NOBODY):
        return {
            name: _write_ns(PARAMETERS / name, text) for name, text in values.items()
        }


def _write_ns(attribute: Path, value: str) -> float:
    begun_ns = time.thread_time_ns()
    for _ in range(BEATS):
        attribute.write_text(value)
    return (time.thread_time_ns() - begun_ns) / BEATS
