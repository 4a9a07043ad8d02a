# SPDX-License-Identifier: GPL-2.0-only
"""compiler: roots of Debian in which kernels are compiled.

The host needs no compiler, and a kernel gets one of its own time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from machine import cache, image
from machine.recipe import VM

PACKAGES = "bc,bison,flex,gcc,libc6-dev,libelf-dev,make,perl,xz-utils"
# Where the root has the folder of this tree that has the fragments and scripts.
VM_INSIDE = "/mnt/vm"
JOBS = str(len(os.sched_getaffinity(0)))


def root(suite: str, *more: str) -> Path:
    """The root of a suite with its compiler, and more packages."""
    packages = ",".join([PACKAGES, *more])

    def build(part: Path) -> None:
        extra = ["--variant=minbase", f"--include={packages}"]
        image.bootstrap(suite, {suite}, part, extra)

    owner = image.as_owner()
    key = cache.digest(suite, packages)
    return cache.build(f"compiler-{suite}", key, build, as_owner=owner)


def run(home: Path, tree: Path, inside: str, command: Sequence[str]) -> None:
    """Run a command in a root that sees a kernel's tree at a path, to write there."""
    binds = [f"{tree}:{inside}", f"{VM}:{VM_INSIDE}:ro"]
    enter = [*image.as_owner(), str(VM / "enter.sh"), str(home), *binds, "--"]
    image.logged([*enter, *command])
