# SPDX-License-Identifier: GPL-2.0-only
"""scsi_table: translate rules to parameters of scsi_debug, or refuse them.

scsi_debug is a disk in memory that completes each command `ndelay` ns after it began
and accepts `max_queue` commands at a time (drivers/scsi/scsi_debug.c, schedule_resp()).
It ignores the keys of a rule that select submitters and operations: it delays every
command. Mode `sleep` becomes a queue of one command: a submitter that sleeps with one
bio sends the next one after it; here others wait for the disk. A flush takes 1/20 s
(scsi_debug_queuecommand(), F_SYNC_DELAY). Other keys are refused, unless the rule has a
delay for scsi_debug of its own (`scsi_debug_ms`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labrun.injectors.translation import MS_US, lost, misfits, refusal
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject

MODULE = "scsi_debug"
SIZE_MIB = 512
# Of commands at a time (SDEBUG_CANQUEUE), and of ndelay (ndelay_store()).
MAX_QUEUE = 192
BELOW_US = 1_000_000
CLASSES = ("read", "write")
# The keys of a rule that scsi_debug can do, and those that it ignores.
CAN = ("delay_us", "disk", "lanes")
IGNORED = ("submitter", "kind", "ops", "mode")
KNOWN = (*CAN, *IGNORED)


@dataclass(frozen=True)
class Slow:
    """The disk: which one it replaces, its delay, its queue length."""

    disk: str
    delay_us: int
    max_queue: int

    @property
    def load_argv(self) -> list[str]:
        """The command that loads it, without a delay."""
        size = f"dev_size_mb={SIZE_MIB}"
        return ["modprobe", MODULE, size, "delay=0", f"max_queue={self.max_queue}"]


def slow(rule: Inject) -> Slow:
    """Return the disk that a rule needs."""
    in_turn = 1 if rule.mode == "sleep" else MAX_QUEUE
    return Slow(rule.disk, delay_us(rule), rule.lanes or in_turn)


def delay_us(rule: Inject) -> int:
    """Return the delay of each command."""
    if rule.scsi_debug_ms is not None:
        return rule.scsi_debug_ms * MS_US
    return rule.delay_us or 0


def mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
    """List the keys of a rule that scsi_debug cannot do, and why."""
    yield from misfits(rule, MODULE, None if rule.scsi_debug_ms else KNOWN, CLASSES)
    if delay_us(rule) >= BELOW_US:
        yield "delay_us", f"scsi_debug delays by less than {BELOW_US} us"


def refusals(scenario: Scenario) -> Iterator[str]:
    """List keys that it cannot do, and rules that need a second disk."""
    first, *_ = scenario.inject
    for number, rule in enumerate(scenario.inject):
        for key, why in mistakes(rule):
            yield refusal(scenario, number, why, key)
        if slow(rule) != slow(first):
            why = "scsi_debug is one disk with one delay, those of inject[0]"
            yield refusal(scenario, number, why)


def translated(rule: Inject, disk: str) -> dict[str, str | int]:
    """Return the manifest's entry of a rule: its translation, and the ignored keys."""
    wanted = slow(rule)
    return {
        "device": disk,
        "delay_us": wanted.delay_us,
        "max_queue": wanted.max_queue,
        "lost": lost(rule, CAN, IGNORED),
    }
