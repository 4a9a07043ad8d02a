# SPDX-License-Identifier: GPL-2.0-only
"""whole_disk: the base of injectors that put a slow device under the file system.

dm-delay and scsi_debug are set up before the file systems are made. They delay the bios
of a disk whoever submitted them, hold no task, and keep no record of what they delay:
reads and writes are counted instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, ClassVar

from labrun.injectors.interface import Injector
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject
from labrun.setup.disk import SYS_BLOCK, Disks
from writestall_base.steps import Run

MS_US = 1_000
# These keys say something only beside another key, or to one injector.
BESIDE = ("burst_period_ms", "dm_delay_ms", "scsi_debug_ms", "spin_before")


class WholeDisk(Injector):
    """A subclass sets _made in stacked(): the names of its devices in /sys.

    can      keys of a rule that it can do
    ignored  keys of a rule that it ignores
    own      the key for a delay of its own, with which it ignores all that it cannot do
    classes  operations that it can select
    """

    can: ClassVar[tuple[str, ...]]
    ignored: ClassVar[tuple[str, ...]]
    own: ClassVar[str]
    classes: ClassVar[tuple[str, ...]]
    _made: list[str]

    @classmethod
    def refusals(cls, scenario: Scenario) -> Iterator[str]:
        for number, rule in enumerate(scenario.inject):
            at, remedy = f"{scenario.name}: inject[{number}]", "use --injector biodelay"
            for key, why in cls.mistakes(rule):
                yield f"{at}.{key}: {why}; {remedy}"
            for why in cls.conflicts(rule, scenario.inject[:number]):
                yield f"{at}: {why}; {remedy}"

    @classmethod
    def mistakes(cls, rule: Inject) -> Iterator[tuple[str, str]]:
        """List the keys of a rule that it cannot do, and why."""
        for key in () if getattr(rule, cls.own) else cls._unable(rule):
            yield key, f"{cls.name} delays every bio alike"
        if rule.mode == "spin":
            yield "mode", f"{cls.name} cannot busy-wait"
        for name in rule.ops:
            if name not in cls.classes:
                yield "ops", f"{cls.name} cannot select {name}"
        yield from cls.own_mistakes(rule)

    @classmethod
    def _unable(cls, rule: Inject) -> list[str]:
        """List the keys set in a rule that it neither can do nor ignores."""
        default, known = type(rule)(), (*cls.can, *cls.ignored, *BESIDE)
        names = (field.name for field in fields(rule) if field.name not in known)
        return [name for name in names if getattr(rule, name) != getattr(default, name)]

    @staticmethod
    def own_mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
        """List those that others of its kind can do, and why."""
        raise NotImplementedError

    @staticmethod
    def conflicts(rule: Inject, before: Sequence[Inject]) -> Iterator[str]:
        """List why it cannot do a rule besides the ones before."""
        raise NotImplementedError

    @classmethod
    def lost(cls, rule: Inject) -> str:
        """Return the settings that it leaves out, for the manifest.

        It holds no task: mode = "defer" is what it does.
        """
        default = type(rule)(mode="defer")
        words = {
            name: getattr(rule, name)
            for name in (*cls.ignored, *cls._unable(rule))
            if getattr(rule, name) != getattr(default, name)
        }
        return " ".join(
            f"{name}={','.join(value) if isinstance(value, tuple) else value}"
            for name, value in words.items()
        )

    def slow_down(self) -> str:
        """Start to delay; return a note for the manifest, which may be empty."""
        raise NotImplementedError

    def speed_up(self) -> None:
        """Stop to delay."""
        raise NotImplementedError

    def describe(
        self, run: Run, version: str, rules: list[dict[str, Any]], disks: Disks
    ) -> None:
        """Note the injector, and the disks that replace those of the command line."""
        run.manifest["injector"] = {
            "name": self.name,
            "version": version,
            "rules": rules,
            "record": None,
            "counters": None,
        }
        for key, old, new in (
            ("device", self.disks.scratch, disks.scratch),
            ("journal_device", self.disks.journal, disks.journal),
        ):
            if new is not None and new is not old:
                run.manifest[key] = new.as_json()

    @contextmanager
    def armed(self, run: Run) -> Iterator[None]:
        before = self._passed()
        try:
            with run.step("arm") as step:
                step.detail = self.slow_down()
            yield
        finally:
            with run.undo("disarm") as step:
                after = self._passed()
                counts = {name: count - before[name] for name, count in after.items()}
                run.manifest["injector"]["counters"] = counts
                step.detail = ", ".join(f"{name} {n}" for name, n in counts.items())
                self.speed_up()

    def _passed(self) -> dict[str, int]:
        """Count completed reads and writes (Documentation/block/stat.rst)."""
        return {
            f"{name} {kind}": int((SYS_BLOCK / name / "stat").read_text().split()[at])
            for name in self._made
            for kind, at in {"reads": 0, "writes": 4}.items()
        }
