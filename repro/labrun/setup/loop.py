# SPDX-License-Identifier: GPL-2.0-only
"""loop: put a loop device over the scratch disk.

biodelay catches a bio before the disk gives it a request, so nothing that it delays
takes one of that disk's. A loop device's worker hands down to the disk what already
has a request of the loop device's own (drivers/block/loop.c, lo_rw_aio()): there a
slow disk fills the queue. Without direct I/O the page cache would be in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labrun.process import tool
from labrun.scenario.keys import FileSystem
from labrun.setup import disk
from labrun.setup.disk import Disk
from labrun.steps import Run

LOAD = ["modprobe", "loop"]


def attach_argv(path: str) -> list[str]:
    """losetup(8), which prints the device it chose."""
    return ["losetup", "--find", "--show", "--direct-io=on", path]


@contextmanager
def carrier(run: Run, filesystem: FileSystem, scratch: Disk) -> Iterator[Disk]:
    """The disk, or a loop device over it that is gone afterwards."""
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
                step.skip("none was attached")
