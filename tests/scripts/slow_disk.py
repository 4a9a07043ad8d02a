# SPDX-License-Identifier: GPL-2.0-only
"""slow_disk: a mounted file system whose disk our injector makes slow."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lab

PARAMETERS = Path("/sys/module/biodelay/parameters")
CONFIGFS = Path("/sys/kernel/config")
PERIODS = {"dirty_writeback_centisecs": "100", "dirty_expire_centisecs": "200"}


@contextmanager
def mounted(options: str = "defaults") -> Iterator[str]:
    """Mount the scratch disk; yield its name."""
    lab.run(*lab.EXT4.split(), lab.DISK)
    lab.MOUNT.mkdir(parents=True, exist_ok=True)
    lab.run("mount", "-o", options, lab.DISK, lab.MOUNT)
    # Short periods of writeback give every commit something to write.
    for name, value in PERIODS.items():
        (Path("/proc/sys/vm") / name).write_text(value)
    try:
        yield lab.DISK.name
    finally:
        lab.until(_is_unmounted)


def _is_unmounted() -> bool:
    """Unmount the disk. A ring of io_uring's holds its files for a moment after its
    process has ended (io_uring/io_uring.c, io_ring_exit_work())."""
    command = ["umount", str(lab.MOUNT)]
    return subprocess.run(command, check=False).returncode == 0


@contextmanager
def loaded(module: Path, **rule: str) -> Iterator[None]:
    """Delay the disk's bios by a rule of kmod/README.md from arm() on, until the body
    has ended."""
    lab.run("modprobe", "configfs")
    words = [f"{name}={value}" for name, value in rule.items()]
    lab.run("insmod", module, f"device={lab.DISK.name}", *words)
    try:
        yield
        (PARAMETERS / "enabled").write_text("0")
    finally:
        lab.run("rmmod", "biodelay")


@contextmanager
def slow(module: Path, **rule: str) -> Iterator[None]:
    """The same, armed while the body runs."""
    with loaded(module, **rule):
        arm()
        yield


def arm() -> None:
    """The times of a `burst` count from here on."""
    (PARAMETERS / "enabled").write_text("1")
