# SPDX-License-Identifier: GPL-2.0-only
"""filesystem: a scratch disk to a mounted file system, and back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labrun.disk import Disk
from labrun.process import tool
from labrun.run import Run
from labrun.scenario import FileSystem

MKFS_TIMEOUT_S = 600
UMOUNT_TIMEOUT_S = 300
# Tracers print a file as parent folder and name; a mount's top has no name.
FOLDER = "lab"

QUIET = {"ext4": ["-q"], "xfs": ["-q"], "btrfs": ["-q"], "f2fs": ["-q"]}


def mkfs_argv(filesystem: FileSystem, disk: str) -> list[str]:
    """mkfs of a type, its options, the disk. No force: signatures were looked for."""
    kind = filesystem.type
    return [f"mkfs.{kind}", *QUIET[kind], *filesystem.mkfs_options, disk]


def mount_argv(filesystem: FileSystem, disk: str, target: str) -> list[str]:
    """mount(8) with the scenario's options."""
    options = (
        ["-o", ",".join(filesystem.mount_options)] if filesystem.mount_options else []
    )
    return ["mount", "-t", filesystem.type, *options, disk, target]


def make(run: Run, filesystem: FileSystem, disk: Disk) -> None:
    """Make the file system; note it and its tool's version."""
    argv = mkfs_argv(filesystem, disk.path)
    with run.step("mkfs", " ".join(argv)):
        version = tool([argv[0], "-V"]).strip().splitlines()
        run.manifest["filesystem"] = {
            "type": filesystem.type,
            "mkfs": argv,
            "mount_options": None,
            "tool_version": version[0] if version else None,
        }
        tool(argv, MKFS_TIMEOUT_S, run.stop)


@contextmanager
def mounted(run: Run, filesystem: FileSystem, disk: Disk) -> Iterator[Path]:
    """The mounted file system's folder for the workload's files."""
    target = tempfile.mkdtemp(prefix="writestall-mnt-")
    argv = mount_argv(filesystem, disk.path, target)
    try:
        with run.step("mount", " ".join(argv)):
            tool(argv)
            run.manifest["filesystem"]["mount_options"] = _mount_options(target)
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


def _mount_options(target: str) -> str | None:
    """The options /proc/mounts has for a mount point, None where none is."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount_point, _, options, *_ = line.split(" ")
        # Blanks stand there as octal escapes: proc(5).
        if mount_point.encode().decode("unicode_escape") == target:
            return options
    return None
