# SPDX-License-Identifier: GPL-2.0-only
"""disk: inspect a scratch disk and refuse one that is in use."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from writestall_base import mountinfo
from writestall_base.errors import StepError, UserError
from writestall_base.process import tool
from writestall_base.steps import Run

SYS_BLOCK = Path("/sys/class/block")


@dataclass(frozen=True)
class Disk:
    """A block device: path, name, MAJ:MIN, size."""

    path: str
    name: str
    dev: str
    size_bytes: int

    def as_json(self) -> dict[str, str | int]:
        """Return its entry in the manifest."""
        return {"name": self.name, "dev": self.dev, "size_bytes": self.size_bytes}


@dataclass(frozen=True)
class Disks:
    """The scratch disk, and the journal's disk if there is one."""

    scratch: Disk
    journal: Disk | None

    def named(self, name: str) -> Disk:
        """Return the disk of a rule: `scratch` or `journal`."""
        found = self.journal if name == "journal" else self.scratch
        assert found is not None, name
        return found

    def instead_of(self, old: Disk, new: Disk) -> Disks:
        """Return the disks with one of them replaced."""
        return Disks(
            new if self.scratch == old else self.scratch,
            new if self.journal == old else self.journal,
        )


def inspect(path: str, wipe: bool) -> Disk:
    """Return the disk; UserError if in use, no disk, or not empty without `wipe`."""
    disk = identify(path)
    for reason in _in_use(disk):
        raise UserError(f"{path} is in use: {reason}; name a scratch disk")
    if not wipe:
        _refuse_content(disk)
    return disk


def identify(path: str) -> Disk:
    """Return the writable block device of that path. Raises UserError."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; lsblk lists the disks") from None
    if not stat.S_ISBLK(status.st_mode):
        raise UserError(f"{path} is not a block device; lsblk lists the disks")
    dev = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    name = Path(f"/sys/dev/block/{dev}").resolve().name
    if (SYS_BLOCK / name / "ro").read_text().strip() != "0":
        raise UserError(f"{path} is read-only; name a scratch disk")
    sectors = int((SYS_BLOCK / name / "size").read_text())
    if sectors == 0:
        raise UserError(f"{path} has no size; name a scratch disk")
    return Disk(path, name, dev, sectors * 512)  # sysfs counts 512-byte sectors


def _family(disk: Disk) -> dict[str, str]:
    """Map MAJ:MIN to the name, for the disk and its partitions."""
    home = SYS_BLOCK / disk.name
    parts = sorted(part.parent for part in home.glob("*/partition"))
    return {
        (SYS_BLOCK / part.name / "dev").read_text().strip(): part.name
        for part in [home, *parts]
    }


def _in_use(disk: Disk) -> list[str]:
    """List every use of the disk."""
    family = _family(disk)
    found = []
    for mount in mountinfo.read():
        if mounted := family.get(mount.dev) or _member(mount.source, family):
            found.append(f"{mounted} is mounted on {mount.point}")
    for line in Path("/proc/swaps").read_text().splitlines()[1:]:
        if swap := _member(line.split()[0], family):
            found.append(f"{swap} is swap")
    for name in family.values():
        holders = sorted(path.name for path in (SYS_BLOCK / name / "holders").iterdir())
        if holders:
            found.append(f"{name} is held by {', '.join(holders)} (dm or md)")
    return found or _claimed(family)


def _member(source: str, family: dict[str, str]) -> str | None:
    """Return the member of a device path: btrfs mounts show no MAJ:MIN."""
    try:
        status = Path(source).stat()
    except OSError:
        return None
    if not stat.S_ISBLK(status.st_mode):
        return None
    return family.get(f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}")


def _claimed(family: dict[str, str]) -> list[str]:
    """List exclusive users: open(2) with O_EXCL and without O_CREAT fails."""
    found = []
    for dev, name in family.items():
        node = f"/dev/{name.replace('!', '/')}"
        try:
            os.close(os.open(node, os.O_RDONLY | os.O_EXCL))
        except OSError as error:
            why = "claimed" if error.errno == errno.EBUSY else error.strerror
            found.append(f"{node} ({dev}) is {why}")
    return found


def _refuse_content(disk: Disk) -> None:
    """Refuse what wipefs(8) finds: file systems, RAID members, partition tables."""
    look = ["wipefs", "--no-act", "--noheadings", "--output", "TYPE", disk.path]
    try:
        signatures = tool(look).split()
    except StepError as error:
        raise UserError(str(error)) from None
    members = [name for name in _family(disk).values() if name != disk.name]
    if members:
        signatures.append(f"partitions {', '.join(members)}")
    if signatures:
        what = ", ".join(dict.fromkeys(signatures))
        raise UserError(f"{disk.path} carries data ({what}); --wipe destroys it")


def wipe(run: Run, disk: Disk) -> None:
    """Erase the signatures, so that mkfs and mount find none."""
    with run.step("wipe", disk.path):
        parts = [name for name in _family(disk).values() if name != disk.name]
        for name in parts:
            tool(["wipefs", "--all", "--quiet", f"/dev/{name}"])
        tool(["wipefs", "--all", "--quiet", disk.path])
