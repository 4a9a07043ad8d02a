# SPDX-License-Identifier: GPL-2.0-only
"""stress_bed: three file systems on one disk, under fio that verifies what it wrote.

ext4, XFS where the kernel has it, and ext4 on a stack of two dm devices. A file system
is checked at the end.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import lab

PLACE = Path("/tmp/stress")
SECTORS_PER_MIB = 2048
SIZE_MIB = 600
FIO = (
    "--rw=randwrite --bs=4k --size=1m --verify=crc32c --verify_fatal=1"
    " --thinktime=1ms --name=buffered --fsync=8 --name=direct --direct=1"
).split()
MKFS = {"ext4": "mkfs.ext4 -q -F", "xfs": lab.xfs()}
CHECKS = {"ext4": ("fsck.ext4", "-f", "-n"), "xfs": ("xfs_repair", "-n")}


def run(*words: object) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-800:]}{done.stderr[-800:]}"
    return done.stdout


def _linear(name: str, below: str, at_mib: int = 0) -> str:
    """Make a dm device of SIZE_MIB on another device."""
    length, start = (n * SECTORS_PER_MIB for n in (SIZE_MIB, at_mib))
    run("dmsetup", "create", name, "--table", f"0 {length} linear {below} {start}")
    run("dmsetup", "mknodes")
    return f"/dev/mapper/{name}"


@dataclass
class Load:
    """fio on one file system, round after round."""

    folder: Path
    stop: threading.Event
    rounds: int = 0
    failed: str = ""
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def _write(self) -> None:
        command = ["fio", f"--directory={self.folder}", *FIO]
        while not self.stop.is_set() and not self.failed:
            done = subprocess.run(
                command, cwd="/tmp", capture_output=True, text=True, check=False
            )
            self.rounds += not done.returncode
            if done.returncode:
                self.failed = done.stdout[-1500:] + done.stderr[-1500:]


@dataclass
class Bed:
    """The disk, the dm devices above it by their numbers, and the loads."""

    disk: str
    upper: dict[str, str]
    loads: list[Load]

    def check(self) -> None:
        """Fail if a load has."""
        for load in self.loads:
            assert not load.failed, f"{load.folder}: {load.failed}"


def _end(loads: list[Load], stop: threading.Event) -> None:
    """Let each load end its round."""
    stop.set()
    for load in loads:
        load.thread.join()


def _number(path: str) -> str:
    """A device by its number: without udev, nothing in /dev is called dm-0."""
    device = Path(path).stat().st_rdev
    return f"{os.major(device)}:{os.minor(device)}"


@contextmanager
def bed(disk: str) -> Iterator[Bed]:
    """The file systems under load; checked and taken down afterwards."""
    stop = threading.Event()
    with ExitStack() as undo:
        devices: dict[str, str] = {}

        def linear(name: str, below: str, at_mib: int = 0) -> str:
            path = _linear(name, below, at_mib)
            undo.callback(run, "dmsetup", "remove", "--retry", name)
            return path

        devices["ext4"] = linear("stress-ext4", disk)
        if lab.mounts("xfs"):
            devices["xfs"] = linear("stress-xfs", disk, SIZE_MIB)
        lower = linear("stress-lower", disk, 2 * SIZE_MIB)
        devices["stack"] = linear("stress-stack", lower)
        loads: list[Load] = []
        for name, path in devices.items():
            kind = "xfs" if name == "xfs" else "ext4"
            run(*MKFS[kind].split(), path)
            folder = PLACE / name
            folder.mkdir(parents=True, exist_ok=True)
            run("mount", path, folder)
            undo.callback(run, *CHECKS[kind], path)
            undo.callback(run, "umount", folder)
        undo.callback(_end, loads, stop)
        loads += [Load(PLACE / name, stop) for name in devices]
        names = {name: _number(path) for name, path in devices.items()}
        found = Bed(Path(disk).name, names, loads)
        yield found
    found.check()
