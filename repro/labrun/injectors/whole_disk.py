# SPDX-License-Identifier: GPL-2.0-only
"""whole_disk: the base of injectors that put a slow device under the file system.

dm-delay and scsi_debug are set up before the file systems are made. They delay the bios
of a disk whoever submitted them, hold no task, and keep no record of what they delay:
reads and writes are counted instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from labrun.injectors.interface import Injector
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject
from labrun.setup.disk import SYS_BLOCK, Disks
from writestall_base.steps import Run

MS_US = 1_000
# These keys say something only beside another key, or to one injector.
BESIDE = ("burst_period_ms", "dm_delay_ms", "scsi_debug_ms", "spin_before")


def unable(rule: Inject, known: Collection[str]) -> Iterator[str]:
    """List the keys set in a rule that an injector neither can do nor ignores."""
    default = type(rule)()
    for name in (field.name for field in fields(rule)):
        is_set = getattr(rule, name) != getattr(default, name)
        if is_set and name not in (*known, *BESIDE):
            yield name


def lost(rule: Inject, can: Collection[str], ignored: Collection[str]) -> str:
    """Return the settings that an injector leaves out, for the manifest.

    Neither holds a task: mode = "defer" is what they do.
    """
    default = type(rule)(mode="defer")
    words = {
        name: getattr(rule, name)
        for name in (*ignored, *unable(rule, (*can, *ignored)))
        if getattr(rule, name) != getattr(default, name)
    }
    return " ".join(
        f"{name}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in words.items()
    )


def misfits(
    rule: Inject, injector: str, known: Collection[str] | None, classes: Collection[str]
) -> Iterator[tuple[str, str]]:
    """List the keys of a rule that the injector cannot do, and why.

    `known` are the keys that it can do or ignores, None for all; `classes` the
    operations that it can select.
    """
    for key in () if known is None else unable(rule, known):
        yield key, f"{injector} delays every bio alike"
    if rule.mode == "spin":
        yield "mode", f"{injector} cannot busy-wait"
    for name in rule.ops:
        if name not in classes:
            yield "ops", f"{injector} cannot select {name}"


def refusal(scenario: Scenario, number: int, why: str, key: str = "") -> str:
    """Return the message that refuses a rule, or one of its keys."""
    at = f"inject[{number}]{key and f'.{key}'}"
    return f"{scenario.name}: {at}: {why}; use --injector biodelay"


class WholeDisk(Injector):
    """A subclass sets _made in stacked(): the names of its devices in /sys."""

    _made: list[str]

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
