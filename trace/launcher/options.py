# SPDX-License-Identifier: GPL-2.0-only
"""options: map the options that the engines share to the scripts' variables."""

from __future__ import annotations

import argparse
import os
import re
import stat
from pathlib import Path
from shlex import quote

from launcher.calls import masks
from launcher.errors import TraceError
from writestall_base import mountinfo

COMM_BYTES = 15  # TASK_COMM_LEN less its end (include/linux/sched.h)
MOUNTS = mountinfo.OWN
PRINTS_TEXT = "slow_writes"  # each of its lines is a call, which -v renders as text

# The option that sets a variable.
OPTIONS = {
    "floor_us": "--floor-us",
    "stall_us": "--stall-us",
    "only_pid": "--pid",
    "only_comm": "--comm",
    "waits_pid": "--waits",
    "waits_comm": "--waits-comm",
    "only_dev": "--device",
    "only_ino": "--path",
    **{f"only_calls_{number}": "--call" for number in range(4)},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add thresholds and filters; filters choose calls, sleeps are always shown."""
    add = parser.add_argument
    add("--floor-us", type=int, metavar="US", help="shortest sleep shown (1000)")
    add("--stall-us", type=int, metavar="US", help="shortest stall (100000)")
    pid = "only calls of this process and its children"
    add("--pid", type=int, metavar="PID", help=pid)
    add("--comm", metavar="NAME", help="calls of tasks or processes of that name")
    add("--waits", type=int, metavar="PID", help="interruptible sleeps of it, too")
    add("--waits-comm", metavar="NAME", help="the same of tasks of that name")
    device = "only calls on this disk's file system: 254:16, /dev/vdb"
    add("--device", metavar="DEV", help=device)
    path = "only calls on this file, or below this folder"
    add("--path", type=Path, metavar="PATH", help=path)
    add("--call", metavar="C,C", help="these calls, or groups of them: docs/events.md")
    add("-v", dest="text", action="store_true", help="print text, not JSON")
    add("--output", type=Path, metavar="FILE", help="instead of stdout")


def variables(options: argparse.Namespace, script: Path) -> dict[str, int | str]:
    """Return values for a script's variables; refuse options it does not have."""
    if options.text and script.stem != PRINTS_TEXT:
        raise TraceError(f"{script.stem} has no -v; {PRINTS_TEXT} has")
    given = _thresholds(options) | _chosen(options)
    source = script.read_text()
    for name in given:
        if not re.search(rf"^global {name}\b", source, re.M):
            raise TraceError(f"{script.stem} has no {OPTIONS[name]}")
    return given


def _thresholds(options: argparse.Namespace) -> dict[str, int | str]:
    given: dict[str, int | str] = {}
    for name in ("floor_us", "stall_us"):
        value = getattr(options, name)
        if value is not None and value < 0:
            raise TraceError(f"{OPTIONS[name]} {value}: give 0 or more")
        if value is not None:
            given[name] = value
    return given


def _chosen(options: argparse.Namespace) -> dict[str, int | str]:
    chosen: dict[str, int | str] = {}
    for name, pid in (("only_pid", options.pid), ("waits_pid", options.waits)):
        if pid is not None:
            if pid < 1:
                raise TraceError(f"{OPTIONS[name]} {pid}: give 1 or more")
            chosen[name] = pid
    comms = ("only_comm", options.comm), ("waits_comm", options.waits_comm)
    for name, comm in comms:
        if comm is not None:
            if not 1 <= len(comm.encode()) <= COMM_BYTES:
                raise TraceError(
                    f"{OPTIONS[name]} {quote(comm)}: a name has 1 to {COMM_BYTES} bytes"
                )
            chosen[name] = comm
    if options.device is not None:
        chosen["only_dev"] = device_number(options.device)
    if options.call is not None:
        chosen |= masks(options.call)
    if options.path is not None:
        chosen |= _inode(options.path, chosen.get("only_dev"))
    return chosen


def _number(major: int, minor: int) -> int:
    """Return a dev_t in the kernel's internal format: linux/kdev_t.h."""
    return major << 20 | minor


def device_number(text: str) -> int:
    """Return the number of a block device, given by its file or as MAJ:MIN."""
    found = re.fullmatch(r"(\d+):(\d+)", text)
    if found:
        return _number(int(found[1]), int(found[2]))
    try:
        status = os.stat(text)  # noqa: PTH116 - Path("") is the current folder
    except OSError as error:
        raise TraceError(f"--device {quote(text)}: {error.strerror}") from error
    if not stat.S_ISBLK(status.st_mode):
        raise TraceError(f"--device {text}: no block device; give one, or MAJ:MIN")
    return _number(os.major(status.st_rdev), os.minor(status.st_rdev))


def _inode(path: Path, device: int | str | None) -> dict[str, int | str]:
    """Return an inode's number and the device of its file system.

    On btrfs st_dev of stat(2) is not that device.
    """
    try:
        whole = path.resolve(strict=True)
        inode = whole.stat().st_ino
    except OSError as error:
        raise TraceError(f"--path {path}: {error.strerror}") from error
    on = _mounted(whole)
    if device not in (None, on):
        raise TraceError(f"--path {path} is not on --device")
    return {"only_dev": on, "only_ino": inode}


def _mounted(path: Path) -> int:
    """Return the device of the file system that holds a path."""
    found = mountinfo.mount_of(path, mountinfo.read(MOUNTS))
    if found is None:
        raise TraceError(f"--path {path}: no file system is mounted there")
    major, minor = found.dev.split(":")
    return _number(int(major), int(minor))
