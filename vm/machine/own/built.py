# SPDX-License-Identifier: GPL-2.0-only
"""built: build kernels that check themselves, from Debian's source.

Each is a tree as `--kernel` takes it. It is compiled in a root of its suite, so that
the host needs no compiler, and a module gets the same one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from machine import cache, image, recipe
from machine.own import kconfig
from machine.recipe import VM

# The suite of that kernel, whose source and compiler are used.
KERNEL = "6.12"
PACKAGES = "bc,bison,flex,gcc,libc6-dev,libelf-dev,linux-source,make,perl,xz-utils"
SCRIPT = VM / "kernel-tree.sh"


@dataclass(frozen=True)
class Flavour:
    """A kernel that checks itself."""

    name: str
    checks: str  # what it finds, in one line
    fragment: Path

    @property
    def fragments(self) -> tuple[Path, Path]:
        """What its configuration consists of."""
        return kconfig.FRAGMENT, self.fragment


DEBUG = Flavour(
    "debug",
    "memory errors, leaks, lock order, undefined behaviour",
    VM / "debug.config",
)
KCSAN = Flavour("kcsan", "data races", VM / "kcsan.config")


def _compiler() -> Path:
    """The root with the source and the compiler."""
    suite = recipe.load().kernels[KERNEL]

    def build(part: Path) -> None:
        extra = ["--variant=minbase", f"--include={PACKAGES}"]
        image.bootstrap(suite, {suite}, part, extra)

    owner = image.as_owner()
    return cache.build("compiler", cache.digest(suite, PACKAGES), build, as_owner=owner)


def tree(flavour: Flavour) -> Path:
    """The built tree; building takes most of an hour on two CPUs."""
    home = _compiler()

    def build(part: Path) -> None:
        part.mkdir()
        binds = [f"{part}:/mnt/tree", f"{VM}:/mnt/vm:ro"]
        fragments = [f"/mnt/vm/{path.name}" for path in flavour.fragments]
        jobs = str(len(os.sched_getaffinity(0)))
        words = ["/mnt/tree", f"-{flavour.name}", jobs, *fragments]
        enter = [*image.as_owner(), str(VM / "enter.sh"), str(home), *binds, "--"]
        image.logged([*enter, f"/mnt/vm/{SCRIPT.name}", *words])
        kconfig.check(part / ".config", *flavour.fragments)

    key = cache.digest(home.name, SCRIPT, *flavour.fragments)
    return cache.build(f"kernel-{flavour.name}", key, build, as_owner=image.as_owner())
