# SPDX-License-Identifier: GPL-2.0-only
"""filesystem: make and mount a file system on the scratch disk, and unmount it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labrun.scenario.keys import FileSystem
from labrun.setup.disk import Disk
from writestall_base import mountinfo
from writestall_base.process import tool
from writestall_base.steps import Run

MKFS_TIMEOUT_S = 600
UMOUNT_TIMEOUT_S = 300
# Tracers print a file as parent folder and name; the root of a mount has no name.
FOLDER = "lab"

# mke2fs(8) leaves inode tables to ext4lazyinit, which writes them while the workload
# runs (fs/ext4/super.c, ext4_lazyinit_thread()). The other file systems write nothing
# of mkfs later. Of several -E the last one counts, so that there is one.
WRITTEN_AT_ONCE = "lazy_itable_init=0,lazy_journal_init=0"
# The block size of both disks, which must be equal: mke2fs(8), -O journal_dev.
JOURNAL_BLOCK = ["-b", "4096"]


def mkfs_argvs(
    filesystem: FileSystem, disk: str, journal: str | None
) -> list[list[str]]:
    """Return the mkfs commands: that of the journal's disk first; none for tmpfs.

    No force: signatures were looked for.
    """
    if filesystem.type == "tmpfs":
        return []
    mkfs = [f"mkfs.{filesystem.type}", "-q"]
    options = _at_once(filesystem)
    if not filesystem.external_journal:
        return [[*mkfs, *options, disk]]
    assert journal is not None
    mkfs += JOURNAL_BLOCK
    return [
        [*mkfs, "-O", "journal_dev", journal],
        [*mkfs, *options, "-J", f"device={journal}", disk],
    ]


def _at_once(filesystem: FileSystem) -> list[str]:
    """The options of mkfs, such that nothing is left to write after it."""
    options = list(filesystem.mkfs_options)
    if filesystem.type != "ext4":
        return options
    if "-E" not in options:
        return [*options, "-E", WRITTEN_AT_ONCE]
    at = len(options) - options[::-1].index("-E")
    return [*options[:at], f"{WRITTEN_AT_ONCE},{options[at]}", *options[at + 1 :]]


def mount_argv(filesystem: FileSystem, disk: str, target: str) -> list[str]:
    """Return the mount(8) command with the scenario's options."""
    options = (
        ["-o", ",".join(filesystem.mount_options)] if filesystem.mount_options else []
    )
    source = "tmpfs" if filesystem.type == "tmpfs" else disk
    return ["mount", "-t", filesystem.type, *options, source, target]


def make(run: Run, filesystem: FileSystem, disk: Disk, journal: Disk | None) -> None:
    """Make the file system; note it and the version of mkfs."""
    argvs = mkfs_argvs(filesystem, disk.path, journal.path if journal else None)
    commands = "; ".join(" ".join(argv) for argv in argvs)
    with run.step("mkfs", commands or f"none for {filesystem.type}"):
        version = tool([argvs[0][0], "-V"]).strip().splitlines() if argvs else []
        run.manifest["filesystem"] = {
            "type": filesystem.type,
            "mkfs": argvs[-1] if argvs else None,
            "dev": None,
            "mount_options": None,
            "tool_version": version[0] if version else None,
        }
        for argv in argvs:
            tool(argv, MKFS_TIMEOUT_S, run.stop)


@contextmanager
def mounted(run: Run, filesystem: FileSystem, disk: Disk) -> Iterator[Path]:
    """Mount it; yield the folder for the workload's files."""
    target = tempfile.mkdtemp(prefix="writestall-mnt-")
    argv = mount_argv(filesystem, disk.path, target)
    try:
        with run.step("mount", " ".join(argv)):
            tool(argv)
            run.manifest["filesystem"] |= _mounted_as(target)
            folder = Path(target) / FOLDER
            folder.mkdir()
            os.sync()
        yield folder
    finally:
        with run.undo("umount", target) as step:
            if Path(target).is_mount():
                tool(["umount", target], UMOUNT_TIMEOUT_S)
            else:
                step.skip("not mounted")
            Path(target).rmdir()


def _mounted_as(target: str) -> dict[str, str | None]:
    """A mount point's device number and options, from the kernel."""
    found = next((one for one in mountinfo.read() if one.point == target), None)
    return {
        "dev": found.dev if found else None,
        "mount_options": found.options if found else None,
    }
