# SPDX-License-Identifier: GPL-2.0-only
"""cost: what is loaded and armed to the IOPS that a fast disk is left with."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from injectors import NULL_BLK, module
from job import intervals_ns

WRITES = 10_000
# Nobody's comm: every bio of the disk is looked at to the last question.
NOBODY = ("submitter=nobody-at-all", "delay_us=1000", "enabled=1")


def arms(
    biodelay: Path, empty_probe: Path, other_disk: str
) -> dict[str, Callable[[], AbstractContextManager[None]]]:
    """What is there while the disk is written to.

    `unloaded again` shows how much is noise; `empty kprobe` is what the kernel takes
    to call a probe of biodelay's kind, whatever that does.
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

    A busy host stops the machine for milliseconds: that makes few writes very slow,
    and leaves the one in the middle as it was.
    """
    return [{name: _iops(arm) for name, arm in every.items()} for _ in range(rounds)]


def _iops(arm: Callable[[], AbstractContextManager[None]]) -> float:
    with arm():
        return 1e9 / statistics.median(intervals_ns(NULL_BLK, WRITES))
