# SPDX-License-Identifier: GPL-2.0-only
"""injectors: set up a disk that is slowed by a given injector and delay.

biodelay and dm-delay slow the same null_blk, scsi_debug its own RAM disk. Each is set
up for one job and removed after it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from job import tool

NULL_BLK = Path("/dev/nullb0")
SCSI_DEBUG = Path("/sys/bus/pseudo/drivers/scsi_debug")
STACKED = "bench"


@dataclass(frozen=True)
class Injector:
    """One injector.

    `delayed` takes a delay in ns, 0 for none at all; `step_ns` is its resolution.
    """

    name: str
    base: str
    step_ns: int
    delayed: Callable[[int], AbstractContextManager[Path]]


@contextmanager
def _loaded(unload: Sequence[str], *load: str | Path) -> Iterator[None]:
    tool(*load)
    try:
        yield
    finally:
        tool(*unload)


def module(path: Path, *parameters: str) -> AbstractContextManager[None]:
    """Load one of our modules, and unload it at the end."""
    return _loaded(("rmmod", path.stem), "insmod", path, *parameters)


def _kernels_module(name: str, *parameters: str) -> AbstractContextManager[None]:
    return _loaded(("modprobe", "-r", name), "modprobe", name, *parameters)


@contextmanager
def disks() -> Iterator[None]:
    """Create the disks that the injectors slow, and remove them at the end.

    This null_blk completes a write in the call that submits it.
    """
    with (
        _kernels_module("null_blk", "queue_mode=2", "irqmode=0", "gb=1"),
        _kernels_module("scsi_debug", "delay=0", "dev_size_mb=64"),
    ):
        yield


@contextmanager
def _biodelay(path: Path, mode: str, delay_ns: int) -> Iterator[Path]:
    words = f"device={NULL_BLK.name} mode={mode} delay={delay_ns} enabled=1"
    with module(path, *(words.split() if delay_ns else ())):
        yield NULL_BLK


@contextmanager
def _dm_delay(delay_ns: int) -> Iterator[Path]:
    if not delay_ns:
        yield NULL_BLK
        return
    size = subprocess.check_output(["blockdev", "--getsz", NULL_BLK], text=True).strip()
    table = f"0 {size} delay {NULL_BLK} 0 {delay_ns // 1_000_000}"
    tool("dmsetup", "create", STACKED, "--table", table)
    try:
        tool("dmsetup", "mknodes")
        yield Path("/dev/mapper", STACKED)
    finally:
        tool("dmsetup", "remove", "--retry", STACKED)


@contextmanager
def _slow_scsi_debug(delay_ns: int) -> Iterator[Path]:
    """Its delay in ns; it also has one in jiffies, which is no finer than a tick."""
    if delay_ns:
        (SCSI_DEBUG / "ndelay").write_text(str(delay_ns))
    try:
        yield _scsi_disk()
    finally:
        (SCSI_DEBUG / "ndelay").write_text("0")
        (SCSI_DEBUG / "delay").write_text("0")


def _scsi_disk() -> Path:
    """Its disk, which the kernel scans for in the background."""
    for _ in range(100):
        for found in SCSI_DEBUG.glob("adapter0/host*/target*/*/block/*"):
            return Path("/dev", found.name)
        time.sleep(0.1)
    raise SystemExit("bench: scsi_debug shows no disk")


def injectors(biodelay: Path) -> tuple[Injector, ...]:
    """All of them, in the order of the table."""
    slow = partial(_biodelay, biodelay)
    return (
        Injector("biodelay defer", "null_blk", 1, partial(slow, "defer")),
        Injector("biodelay sleep", "null_blk", 1, partial(slow, "sleep")),
        Injector("dm-delay", "null_blk", 1_000_000, _dm_delay),
        Injector("scsi_debug", "scsi_debug", 1, _slow_scsi_debug),
    )
