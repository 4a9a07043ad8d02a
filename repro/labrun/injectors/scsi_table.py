# SPDX-License-Identifier: GPL-2.0-only
"""scsitable: a scenario's rules to scsi_debug's parameters, or to what it cannot do.

scsi_debug is a disk in memory that ends each command so many ns after it began, and
takes so many at a time (drivers/scsi/scsi_debug.c, schedule_resp(), `ndelay` and
`max_queue`). So a rule loses whom it means and what is done: all are delayed. What
becomes of a held submitter it keeps: who sleeps with one bio sends the next one after
it, and so the disk takes one at a time; there it is the disk that others wait for.
A flush takes 1/20 s, whatever else is asked for (scsi_debug_queuecommand(),
F_SYNC_DELAY). What else a rule asks for is refused, unless it says what the disk shall
do instead (`scsi_debug_ms`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labrun.injectors.translation import (
    MS_US,
    UNHELD,
    UNSEEN,
    defaults,
    lost,
    misfits,
    refusal,
)
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject

MODULE = "scsi_debug"
SIZE_MIB = 512
# Of commands at a time (SDEBUG_CANQUEUE), and of ndelay (ndelay_store()).
MAX_QUEUE = 192
BELOW_US = 1_000_000
US_NS = 1_000
CLASSES = ("read", "write")
# What tells bios apart or shapes delays, of which it knows nothing.
CANNOT = defaults(
    "delay",
    "flags_any",
    "flags_none",
    "probability",
    "correlation",
    "space_bytes",
    "burst_on_ms",
)
ALWAYS = UNSEEN | {"ops": ()} | UNHELD


@dataclass(frozen=True)
class Slow:
    """The one disk that it can be: in place of which, how slow, how many at a time."""

    disk: str
    delay_us: int
    max_queue: int

    @property
    def load_argv(self) -> list[str]:
        """Quick at first."""
        size = f"dev_size_mb={SIZE_MIB}"
        return ["modprobe", MODULE, size, "delay=0", f"max_queue={self.max_queue}"]


def slow(rule: Inject) -> Slow:
    """The disk that a rule asks for."""
    in_turn = 1 if rule.mode == "sleep" else MAX_QUEUE
    return Slow(rule.disk, delay_us(rule), rule.lanes or in_turn)


def delay_us(rule: Inject) -> int:
    """Of each command."""
    if rule.scsi_debug_ms is not None:
        return rule.scsi_debug_ms * MS_US
    return rule.delay_us or 0


def mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
    """Keys of a rule that ask for what it cannot do, and why."""
    yield from misfits(rule, MODULE, {} if rule.scsi_debug_ms else CANNOT, CLASSES)
    if delay_us(rule) >= BELOW_US:
        yield "delay_us", f"scsi_debug delays by less than {BELOW_US} us"


def refusals(scenario: Scenario) -> Iterator[str]:
    """Keys that it cannot do, and rules that ask for two different disks."""
    first, *_ = scenario.inject
    for number, rule in enumerate(scenario.inject):
        for key, why in mistakes(rule):
            yield refusal(scenario, number, why, key)
        if slow(rule) != slow(first):
            why = "scsi_debug is one disk with one delay, those of inject[0]"
            yield refusal(scenario, number, why)


def translated(rule: Inject, disk: str) -> dict[str, str | int]:
    """What stands in the manifest for a rule of that disk: its translation and loss."""
    wanted = slow(rule)
    return {
        "device": disk,
        "delay_us": wanted.delay_us,
        "max_queue": wanted.max_queue,
        "lost": lost(rule, ALWAYS | CANNOT),
    }
