# SPDX-License-Identifier: GPL-2.0-only
"""loop: put a loop device over the scratch disk.

biodelay delays a bio before it gets a request of the disk, so a delayed bio occupies
none. The worker of a loop device submits bios for requests of the loop device itself
(drivers/block/loop.c, lo_rw_aio()): there a slow disk fills the queue. Direct I/O keeps
the page cache out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labrun.scenario.keys import FileSystem
from labrun.setup import disk
from labrun.setup.disk import Disk
from writestall_base.process import tool
from writestall_base.steps import Run

LOAD = ["modprobe", "loop"]


def attach_argv(path: str) -> list[str]:
    """Return the losetup(8) command, which prints the device."""
    return ["losetup", "--find", "--show", "--direct-io=on", path]


@contextmanager
def carrier(run: Run, filesystem: FileSystem, scratch: Disk) -> Iterator[Disk]:
    """Yield the disk, or a loop device over it, detached at the end."""
    if not filesystem.loop:
        yield scratch
        return
    made = ""
    try:
        with run.step("loop") as step:
            tool(LOAD)
            made = tool(attach_argv(scratch.path)).strip()
            device = disk.identify(made)
            run.manifest["device"] = device.as_json()
            if run.manifest["backing_device"] is None:
                run.manifest["backing_device"] = scratch.as_json()
            step.detail = f"{made} over {scratch.path}"
        yield device
    finally:
        with run.undo("loop-detach", made) as step:
            if made:
                tool(["losetup", "--detach", made])
            else:
                step.skip("no loop device was attached")
