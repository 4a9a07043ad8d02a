# SPDX-License-Identifier: GPL-2.0-only
"""dm_delay: inject delays with device-mapper devices over the disks of a scenario.

The only module that calls dmsetup(8)
(Documentation/admin-guide/device-mapper/delay.rst). The device is put below the file
system before that is made. dm-delay keeps no record of what it delays; reads and writes
are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from labrun.injectors import dm_table
from labrun.injectors.dm_table import NAME, PREFIX, Slow, delay_ms, slowed
from labrun.injectors.whole_disk import WholeDisk
from labrun.scenario.keys import Scenario
from labrun.setup import disk
from labrun.setup.disk import Disks
from writestall_base.errors import StepError
from writestall_base.process import tool
from writestall_base.steps import Run


class DmDelay(WholeDisk):
    """Delays every disk that a rule names."""

    name = NAME
    tools = ("dmsetup",)

    @staticmethod
    def refusals(scenario: Scenario) -> Iterator[str]:
        yield from dm_table.refusals(scenario)

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
        """Return the manifest's entry of each rule."""
        return [
            dm_table.translated(rule, self.disks.named(rule.disk).name)
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
                self._describe(run, disks)
            yield disks
        finally:
            with run.undo("unstack") as step:
                if not made:
                    step.skip("no device was created")
                for one in reversed(made):
                    _tools(one.remove_argvs())

    def _describe(self, run: Run, disks: Disks) -> None:
        self.describe(run, _version(), self.rules(), disks)
        if disks.scratch is not self.disks.scratch:
            run.manifest["backing_device"] = self.disks.scratch.as_json()

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
