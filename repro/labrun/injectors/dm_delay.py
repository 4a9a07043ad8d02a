# SPDX-License-Identifier: GPL-2.0-only
"""dm_delay: inject delays with device-mapper devices over the disks of a scenario.

The only module that calls dmsetup(8)
(Documentation/admin-guide/device-mapper/delay.rst). The device is put below the file
system before that is made.

dm-delay knows three delays of a whole disk, in whole ms: of reads, of writes and,
since commit cda6b5ab7f59 ("dm delay: add flush as a third class of IO"), of whatever
asks for a flush (drivers/md/dm-delay.c, delay_map(): REQ_PREFLUSH). It ignores
the keys of a rule that select submitters, and `mode`: it delays the bios of every
submitter and holds no task. Other keys are refused, unless the rule has a delay for
dm-delay of its own (`dm_delay_ms`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from labrun.injectors.whole_disk import MS_US, WholeDisk
from labrun.scenario.rule import Inject
from labrun.setup import disk
from labrun.setup.disk import Disk, Disks
from writestall_base.errors import StepError
from writestall_base.process import tool
from writestall_base.steps import Run

PREFIX = "writestall-"
FOLDER = "/dev/mapper"
SECTOR_BYTES = 512  # device-mapper's unit, whatever the disk's
CLASSES = ("read", "write", "flush")


def slowed(rule: Inject) -> tuple[str, ...]:
    """Return the classes of dm-delay that a rule selects."""
    if rule.flags_any:
        return ("flush",)
    return tuple(name for name in CLASSES if name in (rule.ops or CLASSES))


def delay_ms(rule: Inject) -> int:
    return rule.dm_delay_ms or (rule.delay_us or 0) // MS_US


@dataclass(frozen=True)
class Slow:
    """A dm-delay device over a disk; delays in ms by class."""

    name: str
    below: Disk
    delays_ms: dict[str, int]

    @property
    def path(self) -> str:
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


class DmDelay(WholeDisk):
    """Delays every disk that a rule names."""

    name = "dm-delay"
    tools = ("dmsetup",)
    can = ("delay_us", "disk", "ops", "flags_any")
    ignored = ("submitter", "kind", "mode")
    own = "dm_delay_ms"
    classes = CLASSES

    @staticmethod
    def own_mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
        # A bio with both is split: first a flush, then the data (drivers/md/dm.c).
        if rule.flags_any and set(rule.flags_any) - {"FUA"} != {"PREFLUSH"}:
            yield "flags_any", "dm-delay can select PREFLUSH only"
        if rule.dm_delay_ms is None and (rule.delay_us or 0) % MS_US:
            yield "delay_us", f"dm-delay counts whole ms, not {rule.delay_us} us"

    @staticmethod
    def conflicts(rule: Inject, before: Sequence[Inject]) -> Iterator[str]:
        for name in slowed(rule):
            for at, other in enumerate(before):
                if other.disk == rule.disk and name in slowed(other):
                    yield f"dm-delay has one delay for {name}, that of inject[{at}]"
                    break

    def slow(self) -> list[Slow]:
        """Return the devices that the rules need."""
        made: dict[str, Slow] = {}
        for rule in self.scenario.inject:
            below = self.disks.named(rule.disk)
            one = made.setdefault(rule.disk, Slow(PREFIX + rule.disk, below, {}))
            for name in slowed(rule):
                one.delays_ms[name] = delay_ms(rule)
        return list(made.values())

    def rules(self) -> list[dict[str, str | int]]:
        """Return the manifest's entry of each: its translation, and what is lost."""
        return [
            {
                "device": self.disks.named(rule.disk).name,
                "classes": ",".join(slowed(rule)),
                "delay_ms": delay_ms(rule),
                "lost": self.lost(rule),
            }
            for rule in self.scenario.inject
        ]

    def carriers(self) -> Disks:
        """Return the disks under the names of the devices over them."""
        disks = self.disks
        for one in self.slow():
            above = replace(one.below, path=one.path)
            disks = disks.instead_of(one.below, above)
        return disks

    def stack_commands(self) -> list[list[str]]:
        return [argv for one in self.slow() for argv in one.create_argvs()]

    def load_commands(self) -> list[list[str]]:
        return [argv for one in self.slow() for argv in one.reload_argvs(True)]

    @contextmanager
    def stacked(self, run: Run) -> Iterator[Disks]:
        made: list[Slow] = []
        self._made = []
        disks = self.disks
        try:
            with run.step("stack") as step:
                for one in self.slow():
                    create, *nodes = one.create_argvs()
                    tool(create)
                    made.append(one)
                    _tools(nodes)
                    above = disk.identify(one.path)
                    disks = disks.instead_of(one.below, above)
                    self._made.append(above.name)
                step.detail = "; ".join(f"{s.path} over {s.below.path}" for s in made)
                self.describe(run, _version(), self.rules(), disks)
                if disks.scratch is not self.disks.scratch:
                    run.manifest["backing_device"] = self.disks.scratch.as_json()
            yield disks
        finally:
            with run.undo("unstack") as step:
                if not made:
                    step.skip("no device was created")
                for one in reversed(made):
                    _tools(one.remove_argvs())

    def slow_down(self) -> str:
        self._reload(True)
        return ""

    def speed_up(self) -> None:
        self._reload(False)

    def _reload(self, armed: bool) -> None:
        for one in self.slow():
            _tools(one.reload_argvs(armed))


def _tools(argvs: list[list[str]]) -> None:
    for argv in argvs:
        tool(argv)


def _version() -> str:
    """Return the version of the target, from `dmsetup targets`."""
    for line in tool(["dmsetup", "targets"]).splitlines():
        target, _, version = line.partition(" ")
        if target == "delay":
            return version.strip().removeprefix("v")
    raise StepError("dmsetup targets: no delay; modprobe dm-delay")
