# SPDX-License-Identifier: GPL-2.0-only
"""scsi_debug: inject delays with a disk in memory, each of whose commands takes time.

The only module that uses the module parameters and the sysfs files of scsi_debug
(drivers/scsi/scsi_debug.c). Its disk replaces the one that the rules name, which is not
changed except by --wipe.

scsi_debug is a disk in memory that completes each command `ndelay` ns after it began
and accepts `max_queue` commands at a time (schedule_resp()). It ignores the keys of a
rule that select submitters and operations: it delays every command. Mode `sleep`
becomes a queue of one command: a submitter that sleeps with one bio sends the next one
after it; here others wait for the disk. A flush takes 1/20 s
(scsi_debug_queuecommand(), F_SYNC_DELAY). Other keys are refused, unless the rule has a
delay for scsi_debug of its own (`scsi_debug_ms`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from labrun.injectors.whole_disk import MS_US, WholeDisk
from labrun.scenario.rule import Inject
from labrun.setup import disk
from labrun.setup.disk import SYS_BLOCK, Disk, Disks
from writestall_base.errors import StepError
from writestall_base.process import tool, wait_until
from writestall_base.steps import Run
from writestall_base.units import US_NS

MODULE = "scsi_debug"
DRIVER = Path("/sys/bus/pseudo/drivers", MODULE)
FOUND = "adapter*/host*/target*/*/block/*"
LOADED = Path("/sys/module", MODULE)
FORESEEN = "/dev/SCSI_DEBUG_DISK"
# No merging in the request queue (Documentation/block/queue-sysfs.rst): biodelay, too,
# holds a bio before it can be merged.
NOMERGES = "2"
APPEARS_S = 30.0
# While a command is in flight, the driver refuses a new delay: ndelay_store(), EBUSY.
IDLE_S = 30.0
UNLOAD_S = 30.0
POLL_S = 0.05
SIZE_MIB = 512
# Of commands at a time (SDEBUG_CANQUEUE), and of ndelay (ndelay_store()).
MAX_QUEUE = 192
BELOW_US = 1_000_000


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
    if rule.scsi_debug_ms is not None:
        return rule.scsi_debug_ms * MS_US
    return rule.delay_us or 0


class ScsiDebug(WholeDisk):
    """Replaces the disk that the rules name."""

    name = MODULE
    tools = ("modprobe",)
    can = ("delay_us", "disk", "lanes")
    ignored = ("submitter", "kind", "ops", "mode")
    own = "scsi_debug_ms"
    classes = ("read", "write")

    @staticmethod
    def own_mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
        if delay_us(rule) >= BELOW_US:
            yield "delay_us", f"scsi_debug delays by less than {BELOW_US} us"

    @staticmethod
    def conflicts(rule: Inject, before: Sequence[Inject]) -> Iterator[str]:
        if before and slow(rule) != slow(before[0]):
            yield "scsi_debug is one disk with one delay, those of inject[0]"

    @staticmethod
    def problems() -> Iterator[str]:
        if LOADED.exists():
            yield f"{MODULE} is already loaded; modprobe -r {MODULE}"
        free_mib = _available_mib()
        if free_mib < 2 * SIZE_MIB:
            yield (
                f"{MODULE}'s disk needs {SIZE_MIB} MiB of memory, of which"
                f" {free_mib} MiB are free; twice as much is required"
            )

    @property
    def slow(self) -> Slow:
        """The disk of all rules, which refusals() has checked to be one."""
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
        """Return the manifest's entry of each rule for the disk of that name."""
        wanted = {"delay_us": self.slow.delay_us, "max_queue": self.slow.max_queue}
        return [
            {"device": name, **wanted, "lost": self.lost(rule)}
            for rule in self.scenario.inject
        ]

    def _appeared(self, run: Run) -> Disk:
        """Wait for the disk; turn merging off."""

        def there() -> bool:
            return any(
                int((found / "size").read_text()) and Path("/dev", found.name).exists()
                for found in DRIVER.glob(FOUND)
            )

        wait_until(there, APPEARS_S, run.stop, f"{MODULE}'s disk")
        (found,) = DRIVER.glob(FOUND)
        (SYS_BLOCK / found.name / "queue/nomerges").write_text(NOMERGES)
        return disk.identify(f"/dev/{found.name}")

    def slow_down(self) -> str:
        until(lambda: (DRIVER / "ndelay").write_text(self._ndelay), IDLE_S)
        return f"{self._ndelay} ns each"

    def speed_up(self) -> None:
        """Set the module parameters, which can be written at any time.

        They apply to new commands; those in flight keep their delay.
        """
        for name in ("ndelay", "delay"):
            (LOADED / "parameters" / name).write_text("0")


def _unload() -> None:
    """Retry while udev has the disk open."""
    until(lambda: tool(["modprobe", "-r", MODULE]), UNLOAD_S)


def until(act: Callable[[], object], limit_s: float) -> None:
    """Retry until it succeeds or the time limit is over."""
    deadline_s = time.monotonic() + limit_s
    while time.monotonic() < deadline_s:
        with suppress(OSError, StepError):
            act()
            return
        time.sleep(POLL_S)
    act()


def _available_mib() -> int:
    """Return MemAvailable of /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return 0
