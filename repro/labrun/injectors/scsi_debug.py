# SPDX-License-Identifier: GPL-2.0-only
"""scsidebug: a scenario's disk to one in memory whose every command takes a while.

The only module that speaks to scsi_debug, by its module parameters and the files of
its driver (drivers/scsi/scsi_debug.c). Its disk takes the place of the one that the
rules name, to which nothing is done but what --wipe asks for. It keeps no record of
what it delays; what passed while it was slow is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from labrun.errors import StepError
from labrun.injectors import scsi_table
from labrun.injectors.scsi_table import MODULE, SIZE_MIB, US_NS, Slow, slow, translated
from labrun.injectors.whole_disk import Below
from labrun.process import tool, wait_until
from labrun.scenario.keys import Scenario
from labrun.setup import disk
from labrun.setup.disk import SYS_BLOCK, Disk, Disks
from labrun.steps import Run

DRIVER = Path("/sys/bus/pseudo/drivers", MODULE)
FOUND = "adapter*/host*/target*/*/block/*"
LOADED = Path("/sys/module", MODULE)
FORESEEN = "/dev/SCSI_DEBUG_DISK"
# Of a request queue: no merging at all (Documentation/block/queue-sysfs.rst), for
# biodelay holds a bio before it could be merged.
NOMERGES = "2"
APPEARS_S = 30.0
# As long as a command is under way, the driver takes no delay: ndelay_store(), EBUSY.
IDLE_S = 30.0
UNLOAD_S = 30.0
POLL_S = 0.05


class ScsiDebug(Below):
    """A disk of its own in place of the one that the rules name."""

    name = MODULE
    tools = ("modprobe",)

    @staticmethod
    def refusals(scenario: Scenario) -> Iterator[str]:
        yield from scsi_table.refusals(scenario)

    @staticmethod
    def problems() -> Iterator[str]:
        if LOADED.exists():
            yield f"{MODULE} is loaded already, for others; modprobe -r {MODULE}"
        free_mib = _available_mib()
        if free_mib < 2 * SIZE_MIB:
            yield (
                f"{MODULE}'s disk takes {SIZE_MIB} MiB of memory, of which"
                f" {free_mib} MiB are free; have twice as much"
            )

    @property
    def slow(self) -> Slow:
        """All rules ask for the same: refusals() has seen to it."""
        return slow(self.scenario.inject[0])

    @property
    def replaced(self) -> Disk:
        """The disk that the rules name."""
        return self.disks.named(self.slow.disk)

    def carriers(self) -> Disks:
        above = replace(self.replaced, path=FORESEEN)
        return self.disks.instead_of(self.replaced, above)

    def stack_commands(self) -> list[list[str]]:
        return [self.slow.load_argv]

    def load_commands(self) -> list[list[str]]:
        return [["sh", "-c", f"echo {self._ndelay} >{DRIVER}/ndelay"]]

    @property
    def _ndelay(self) -> str:
        return str(self.slow.delay_us * US_NS)

    @contextmanager
    def stacked(self, run: Run) -> Iterator[Disks]:
        loaded = False
        try:
            with run.step("stack") as step:
                tool(self.slow.load_argv)
                loaded = True
                made = self._appeared(run)
                self._made = [made.name]
                disks = self.disks.instead_of(self.replaced, made)
                step.detail = f"{made.path} in place of {self.replaced.path}"
                version = (LOADED / "version").read_text().strip()
                self.describe(run, version, self.scsi_rules(made.name), disks)
            yield disks
        finally:
            with run.undo("unstack") as step:
                if loaded:
                    _unload()
                else:
                    step.skip("not loaded")

    def scsi_rules(self, name: str) -> list[dict[str, str | int]]:
        """What stands in the manifest for each rule, once its disk has a name."""
        return [translated(rule, name) for rule in self.scenario.inject]

    def _appeared(self, run: Run) -> Disk:
        """The disk, once the kernel has found it; requests of it are not merged."""

        def there() -> bool:
            return any(
                int((found / "size").read_text()) and Path("/dev", found.name).exists()
                for found in DRIVER.glob(FOUND)
            )

        wait_until(there, APPEARS_S, run.stop, f"{MODULE}'s disk")
        (home,) = DRIVER.glob(FOUND)
        (SYS_BLOCK / home.name / "queue/nomerges").write_text(NOMERGES)
        return disk.identify(f"/dev/{home.name}")

    def slow_down(self) -> str:
        until(lambda: (DRIVER / "ndelay").write_text(self._ndelay), IDLE_S)
        return f"{self._ndelay} ns each"

    def speed_up(self) -> None:
        """The module's parameters are taken at any time, and hold for what begins from
        now on; what has begun goes on for its own.
        """
        for name in ("ndelay", "delay"):
            (LOADED / "parameters" / name).write_text("0")


def _unload() -> None:
    """Whoever looks at a disk that goes away (udev) lets go of it soon."""
    until(lambda: tool(["modprobe", "-r", MODULE]), UNLOAD_S)


def until(act: Callable[[], object], limit_s: float) -> None:
    """Try again what fails, but not beyond the limit."""
    deadline_s = time.monotonic() + limit_s
    while time.monotonic() < deadline_s:
        with suppress(OSError, StepError):
            act()
            return
        time.sleep(POLL_S)
    act()


def _available_mib() -> int:
    """MemAvailable of /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return 0
