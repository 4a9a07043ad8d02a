# SPDX-License-Identifier: GPL-2.0-only
"""building: build kernels: from a tree that somebody gives, or that check themselves.

They are compiled in a root of Debian: the host needs no compiler, a kernel gets one of
its own time, and a module the same one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import cache, image, recipe, source
from machine.own import find, kconfig
from machine.own.find import OwnKernel
from machine.recipe import VM
from writestall_base.releases import version

PACKAGES = "bc,bison,flex,gcc,libc6-dev,libelf-dev,make,perl,xz-utils"
# Where the root has the folder of this tree that has the fragments and scripts.
VM_INSIDE = "/mnt/vm"
JOBS = str(len(os.sched_getaffinity(0)))
# What a configuration of somebody else's may need: keys that sign its modules.
MORE = "libssl-dev"
# Of kernels that check themselves: the kernel whose suite has the source and compiler.
KERNEL = "6.12"
SCRIPT = VM / "kernel-tree.sh"
# Where that script finds the tree to fill.
INSIDE = "/mnt/tree"


def root(suite: str, *more: str) -> Path:
    """The root of a suite with its compiler, and more packages."""
    return image.rooted(f"compiler-{suite}", suite, ",".join([PACKAGES, *more]))


def run(home: Path, tree: Path, inside: str, command: Sequence[str]) -> None:
    """Run a command in a root that sees a kernel's tree at a path, to write there."""
    binds = [f"{tree}:{inside}", f"{VM}:{VM_INSIDE}:ro"]
    image.logged(image.entering(home, binds, command))


def suite(release: str) -> str:
    """The suite whose compiler is taken for a kernel of that release: the oldest one of
    kernels.toml whose kernel is not older, so gcc 10 for all before 5.10."""
    kernels = recipe.load(full=True).kernels
    oldest_first = sorted(kernels, key=version)
    not_older = (one for one in oldest_first if version(one) >= version(release))
    return kernels[next(not_older, oldest_first[-1])]


def given(tree: Path) -> OwnKernel:
    """The kernel of a source tree, built there; a configuration that it has is kept.

    Raises UserError.
    """
    home = root(suite(source.release(tree)), MORE)
    make = ["make", "--directory", str(tree)]
    config = tree / ".config"
    if not config.exists():
        fragment = f"KCONFIG_ALLCONFIG={VM_INSIDE}/{kconfig.FRAGMENT.name}"
        run(home, tree, str(tree), [*make, fragment, "allnoconfig"])
    kconfig.check(config)
    parts = ["--jobs", JOBS, "bzImage", "modules"]
    run(home, tree, str(tree), [*make, *parts])
    return find.find(str(tree))


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
LOCKDEP = Flavour("lockdep", "who holds which lock", VM / "lockdep.config")
FLAVOURS = {flavour.name: flavour for flavour in (DEBUG, KCSAN, LOCKDEP)}


def tree(flavour: Flavour) -> Path:
    """The built tree; building takes most of an hour on two CPUs."""
    home = root(recipe.load().kernels[KERNEL], source.PACKAGE)

    def build(part: Path) -> None:
        part.mkdir()
        here = VM_INSIDE
        fragments = [f"{here}/{path.name}" for path in flavour.fragments]
        words = [INSIDE, f"-{flavour.name}", JOBS, *fragments]
        run(home, part, INSIDE, [f"{here}/{SCRIPT.name}", *words])
        kconfig.check(part / ".config", *flavour.fragments)

    key = cache.digest(home.name, SCRIPT, *flavour.fragments)
    return cache.build(f"kernel-{flavour.name}", key, build, as_owner=image.as_owner())
