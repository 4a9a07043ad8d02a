# SPDX-License-Identifier: GPL-2.0-only
"""below: devices that carry file systems to disks that are slow while armed.

What dm-delay and scsi_debug have in common: they are put below the file systems before
these are made, keep no record of what they delay, and what passed is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from labrun.injectors.interface import Injector, Steps
from labrun.setup.disk import SYS_BLOCK, Disks
from labrun.steps import Run


class Below(Injector):
    """One of that kind names its devices in stacked(), as /sys has them."""

    steps = Steps(
        stack=("stack",), arm=("arm",), disarm=("disarm",), unstack=("unstack",)
    )
    _made: list[str]

    def slow_down(self) -> str:
        """From now on delay; says how much, as far as that is worth a word."""
        raise NotImplementedError

    def speed_up(self) -> None:
        """From now on pass all on at once."""
        raise NotImplementedError

    def describe(
        self, run: Run, version: str, rules: list[dict[str, Any]], disks: Disks
    ) -> None:
        """Note the injector, and the disks that it put in place of ours."""
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
        """Reads and writes each has ended so far (Documentation/block/stat.rst)."""
        return {
            f"{name} {kind}": int((SYS_BLOCK / name / "stat").read_text().split()[at])
            for name in self._made
            for kind, at in {"reads": 0, "writes": 4}.items()
        }
