# SPDX-License-Identifier: GPL-2.0-only
"""dm_table: translate rules to tables of dm-delay, or refuse them.

dm-delay knows three delays of a whole disk, in whole ms: of reads, of writes and,
since commit cda6b5ab7f59 ("dm delay: add flush as a third class of IO"), of whatever
asks for a flush (drivers/md/dm-delay.c, delay_map(): REQ_PREFLUSH). It ignores
the keys of a rule that select submitters, and `mode`: it delays the bios of every
submitter and holds no task. Other keys are refused, unless the rule has a delay for
dm-delay of its own (`dm_delay_ms`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labrun.injectors.translation import MS_US, lost, misfits, refusal
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject
from labrun.setup.disk import Disk

PREFIX = "writestall-"
FOLDER = "/dev/mapper"
SECTOR_BYTES = 512  # device-mapper's unit, whatever the disk's
NAME = "dm-delay"
CLASSES = ("read", "write", "flush")
# The keys of a rule that dm-delay can do, and those that it ignores.
CAN = ("delay_us", "disk", "ops", "flags_any")
IGNORED = ("submitter", "kind", "mode")
KNOWN = (*CAN, *IGNORED)


def slowed(rule: Inject) -> tuple[str, ...]:
    """Return the classes of dm-delay that a rule selects."""
    if rule.flags_any:
        return ("flush",)
    return tuple(name for name in CLASSES if name in (rule.ops or CLASSES))


def delay_ms(rule: Inject) -> int:
    """Return the delay of a bio of those classes."""
    return rule.dm_delay_ms or (rule.delay_us or 0) // MS_US


def mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
    """List the keys of a rule that dm-delay cannot do, and why."""
    yield from misfits(rule, NAME, None if rule.dm_delay_ms else KNOWN, CLASSES)
    # A bio with both is split: first a flush, then the data (drivers/md/dm.c).
    if rule.flags_any and set(rule.flags_any) - {"FUA"} != {"PREFLUSH"}:
        yield "flags_any", "dm-delay can select PREFLUSH only"
    if rule.dm_delay_ms is None and (rule.delay_us or 0) % MS_US:
        yield "delay_us", f"dm-delay counts whole ms, not {rule.delay_us} us"


def refusals(scenario: Scenario) -> Iterator[str]:
    """List keys that it cannot do, and second delays for one class."""
    taken: dict[tuple[str, str], int] = {}
    for number, rule in enumerate(scenario.inject):
        for key, why in mistakes(rule):
            yield refusal(scenario, number, why, key)
        for name in slowed(rule):
            first = taken.setdefault((rule.disk, name), number)
            if first != number:
                why = f"dm-delay has one delay for {name}, that of inject[{first}]"
                yield refusal(scenario, number, why)


def translated(rule: Inject, disk: str) -> dict[str, str | int]:
    """Return the manifest's entry of a rule: its translation, and the ignored keys."""
    return {
        "device": disk,
        "classes": ",".join(slowed(rule)),
        "delay_ms": delay_ms(rule),
        "lost": lost(rule, CAN, IGNORED),
    }


@dataclass(frozen=True)
class Slow:
    """A dm-delay device over a disk; delays in ms by class."""

    name: str
    below: Disk
    delays_ms: dict[str, int]

    @property
    def path(self) -> str:
        """The path of its node."""
        return f"{FOLDER}/{self.name}"

    def table(self, armed: bool) -> str:
        """Return the table for dmsetup(8); with delays of 0 when not armed."""
        sectors = self.below.size_bytes // SECTOR_BYTES or "SECTORS"  # --dry-run
        parts = [
            f"{self.below.path} 0 {self.delays_ms.get(name, 0) * armed}"
            for name in CLASSES
        ]
        return f"0 {sectors} delay {' '.join(parts)}"

    def create_argvs(self) -> list[list[str]]:
        """Return the commands that create it, not armed.

        Without udev, which may be absent: mknodes makes and removes its node.
        """
        udev = ["--noudevrules", "--noudevsync"]
        return [
            ["dmsetup", "create", *udev, self.name, "--table", self.table(False)],
            ["dmsetup", "mknodes", self.name],
        ]

    def remove_argvs(self) -> list[list[str]]:
        """Return the commands that remove it."""
        return [
            ["dmsetup", "remove", "--retry", "--noudevsync", self.name],
            ["dmsetup", "mknodes", self.name],
        ]

    def reload_argvs(self, armed: bool) -> list[list[str]]:
        """Return the commands that replace its table.

        The old one submits what it holds (drivers/md/dm-delay.c, delay_presuspend());
        the file system is not frozen.
        """
        return [
            ["dmsetup", "load", self.name, "--table", self.table(armed)],
            ["dmsetup", "resume", "--nolockfs", "--noudevsync", self.name],
        ]
