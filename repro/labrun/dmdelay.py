# SPDX-License-Identifier: GPL-2.0-only
"""dmdelay: a scenario's rules to a device-mapper device that is slow as a whole.

The only module that knows how dm-delay is spoken to
(Documentation/admin-guide/device-mapper/delay.rst). It is put below the file system
and knows three delays, in whole ms: of reads, of writes and, since commit
cda6b5ab7f59 ("dm delay: add flush as a third class of IO"), of whatever asks for a
flush (drivers/md/dm-delay.c, delay_map(): REQ_PREFLUSH). So a rule loses whom it
means and whether the submitter is held: all are delayed, and none is held. What else
a rule asks for is refused. It keeps no record of single bios, only counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from labrun import disk
from labrun.disk import Disk, Disks
from labrun.errors import StepError
from labrun.injector import Injector, Steps
from labrun.process import tool
from labrun.rule import Inject
from labrun.run import Run
from labrun.scenario import Scenario

PREFIX = "writestall-"
FOLDER = "/dev/mapper"
SECTOR_BYTES = 512  # device-mapper's unit, whatever the disk's
MS_US = 1_000
CLASSES = ("read", "write", "flush")
# What tells bios apart or shapes delays: dm-delay has nothing like it.
CANNOT = (
    "delay",
    "flags_none",
    "lanes",
    "probability",
    "correlation",
    "space_bytes",
    "burst_on_ms",
)
# What it does, whatever a rule says; where that differs, the manifest names it.
ALWAYS = {"submitter": "*", "kind": "anyone", "mode": "defer"}
INSTEAD = "take --injector biodelay"


def slowed(rule: Inject) -> tuple[str, ...]:
    """Which of dm-delay's classes a rule means."""
    if rule.flags_any:
        return ("flush",)
    return tuple(name for name in CLASSES if name in (rule.ops or CLASSES))


def mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
    """Keys of a rule that ask for what it cannot do, and why."""
    for key in CANNOT:
        if getattr(rule, key) != getattr(Inject(), key):
            yield key, "dm-delay delays all alike"
    if rule.mode == "spin":
        yield "mode", "dm-delay burns no CPU"
    for name in rule.ops:
        if name not in CLASSES:
            yield "ops", f"dm-delay cannot choose {name}"
    # A bio with both is split: first a flush, then the data (drivers/md/dm.c).
    if rule.flags_any and set(rule.flags_any) - {"FUA"} != {"PREFLUSH"}:
        yield "flags_any", "dm-delay can choose PREFLUSH alone"
    if (rule.delay_us or 0) % MS_US:
        yield "delay_us", f"dm-delay counts whole ms, not {rule.delay_us} us"


@dataclass(frozen=True)
class Slow:
    """A dm-delay device over a disk; delays in ms by class."""

    name: str
    below: Disk
    delays_ms: dict[str, int]

    @property
    def path(self) -> str:
        """Where its node is."""
        return f"{FOLDER}/{self.name}"

    def table(self, armed: bool) -> str:
        """The line that dmsetup(8) takes; not armed, it passes all on at once."""
        sectors = self.below.size_bytes // SECTOR_BYTES or "SECTORS"  # --dry-run
        parts = [
            f"{self.below.path} 0 {self.delays_ms.get(name, 0) * armed}"
            for name in CLASSES
        ]
        return f"0 {sectors} delay {' '.join(parts)}"

    def create_argv(self) -> list[str]:
        """Not armed. No udev has to be there, and none may interfere."""
        udev = ["--noudevrules", "--noudevsync"]
        return ["dmsetup", "create", *udev, self.name, "--table", self.table(False)]

    def reload_argvs(self, armed: bool) -> list[list[str]]:
        """Another table in place of the one in force, which lets go of what it has
        (drivers/md/dm-delay.c, delay_presuspend()); the file system is not frozen.
        """
        return [
            ["dmsetup", "load", self.name, "--table", self.table(armed)],
            ["dmsetup", "resume", "--nolockfs", "--noudevsync", self.name],
        ]


class DmDelay(Injector):
    """Every disk that a rule names, slow as a whole."""

    name = "dm-delay"
    tools = ("dmsetup",)
    steps = Steps(
        stack=("stack",), arm=("arm",), disarm=("disarm",), unstack=("unstack",)
    )

    @staticmethod
    def refusals(scenario: Scenario) -> Iterator[str]:
        """Keys that it cannot do, and a second delay for the same class."""
        taken: dict[tuple[str, str], int] = {}
        for number, rule in enumerate(scenario.inject):
            for key, why in mistakes(rule):
                yield f"{scenario.name}: inject[{number}].{key}: {why}; {INSTEAD}"
            for name in slowed(rule):
                first = taken.setdefault((rule.disk, name), number)
                if first != number:
                    why = f"dm-delay has one delay for {name}, that of inject[{first}]"
                    yield f"{scenario.name}: inject[{number}]: {why}; {INSTEAD}"

    def slow(self) -> list[Slow]:
        """The devices that the rules ask for."""
        made: dict[str, Slow] = {}
        for rule in self.scenario.inject:
            below = self.disks.named(rule.disk)
            one = made.setdefault(rule.disk, Slow(PREFIX + rule.disk, below, {}))
            delay_ms = (rule.delay_us or 0) // MS_US
            one.delays_ms.update(dict.fromkeys(slowed(rule), delay_ms))
        return list(made.values())

    def rules(self) -> list[dict[str, str | int]]:
        """What stands in the manifest for each rule: its translation, and its loss."""
        return [
            {
                "device": self.disks.named(rule.disk).name,
                "classes": ",".join(slowed(rule)),
                "delay_ms": (rule.delay_us or 0) // MS_US,
                "lost": " ".join(
                    f"{key}={getattr(rule, key)}"
                    for key, always in ALWAYS.items()
                    if getattr(rule, key) != always
                ),
            }
            for rule in self.scenario.inject
        ]

    def carriers(self) -> Disks:
        """The same disks, under the names of what will be put over them."""
        disks = self.disks
        for one in self.slow():
            above = replace(one.below, path=one.path)
            disks = disks.instead_of(one.below, above)
        return disks

    def stack_commands(self) -> list[list[str]]:
        return [one.create_argv() for one in self.slow()]

    def load_commands(self) -> list[list[str]]:
        return [argv for one in self.slow() for argv in one.reload_argvs(True)]

    @contextmanager
    def stacked(self, run: Run) -> Iterator[Disks]:
        made: list[Slow] = []
        disks = self.disks
        try:
            with run.step("stack") as step:
                for one in self.slow():
                    tool(one.create_argv())
                    made.append(one)
                    disks = disks.instead_of(one.below, disk.identify(one.path))
                step.detail = "; ".join(f"{s.path} over {s.below.path}" for s in made)
                self._describe(run, disks)
            yield disks
        finally:
            with run.undo("unstack") as step:
                if not made:
                    step.skip("none was made")
                for one in reversed(made):
                    tool(["dmsetup", "remove", "--retry", "--noudevsync", one.name])

    def _describe(self, run: Run, disks: Disks) -> None:
        run.manifest["injector"] = {
            "name": self.name,
            "version": _version(),
            "rules": self.rules(),
            "record": None,
            "counters": None,
        }
        for key, old, new in (
            ("device", self.disks.scratch, disks.scratch),
            ("journal_device", self.disks.journal, disks.journal),
        ):
            if new is not None and new is not old:
                run.manifest[key] = new.as_json()
        if disks.scratch is not self.disks.scratch:
            run.manifest["backing_device"] = self.disks.scratch.as_json()

    @contextmanager
    def armed(self, run: Run) -> Iterator[None]:
        try:
            with run.step("arm"):
                self._reload(True)
            yield
        finally:
            with run.undo("disarm") as step:
                counts = {one.below.name: _counts(one) for one in self.slow()}
                run.manifest["injector"]["counters"] = counts
                self._reload(False)
                step.detail = "; ".join(
                    f"{name}: {_told(by_class)}" for name, by_class in counts.items()
                )

    def _reload(self, armed: bool) -> None:
        for one in self.slow():
            for argv in one.reload_argvs(armed):
                tool(argv)


def _told(by_class: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in by_class.items())


def _counts(one: Slow) -> dict[str, int]:
    """How many bios of each class it has delayed since it was armed."""
    words = tool(["dmsetup", "status", one.name]).split()
    # START LENGTH delay READS WRITES FLUSHES (dm-delay.c, delay_status())
    return dict(zip(CLASSES, map(int, words[3:]), strict=True))


def _version() -> str:
    """The target's version, as `dmsetup targets` has it."""
    for line in tool(["dmsetup", "targets"]).splitlines():
        target, _, version = line.partition(" ")
        if target == "delay":
            return version.strip().removeprefix("v")
    raise StepError("dmsetup targets: no delay; modprobe dm-delay")
