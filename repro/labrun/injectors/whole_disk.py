# SPDX-License-Identifier: GPL-2.0-only
"""whole_disk: the base of injectors that put a slow device under the file system.

dm-delay and scsi_debug are set up before the file systems are made, and keep no record
of what they delay. Their reads and writes are counted instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from labrun.injectors.interface import Injector, Steps
from labrun.setup.disk import SYS_BLOCK, Disks
from writestall_base.steps import Run


class WholeDisk(Injector):
    """A subclass sets _made in stacked(): the names of its devices in /sys."""

    steps = Steps(
        stack=("stack",), arm=("arm",), disarm=("disarm",), unstack=("unstack",)
    )
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
