# SPDX-License-Identifier: GPL-2.0-only
"""built: build kernels that check themselves, from Debian's source.

Each is a tree as `--kernel` takes it. It is compiled in a root of its suite, so that
the host needs no compiler, and a module gets the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from machine import cache, image, recipe, source
from machine.own import compiler, kconfig
from machine.recipe import VM

# The suite of that kernel, whose source and compiler are used.
KERNEL = "6.12"
SCRIPT = VM / "kernel-tree.sh"
# Where that script finds the tree to fill.
INSIDE = "/mnt/tree"


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


def tree(flavour: Flavour) -> Path:
    """The built tree; building takes most of an hour on two CPUs."""
    home = compiler.root(recipe.load().kernels[KERNEL], source.PACKAGE)

    def build(part: Path) -> None:
        part.mkdir()
        here = compiler.VM_INSIDE
        fragments = [f"{here}/{path.name}" for path in flavour.fragments]
        words = [INSIDE, f"-{flavour.name}", compiler.JOBS, *fragments]
        compiler.run(home, part, INSIDE, [f"{here}/{SCRIPT.name}", *words])
        kconfig.check(part / ".config", *flavour.fragments)

    key = cache.digest(home.name, SCRIPT, *flavour.fragments)
    return cache.build(f"kernel-{flavour.name}", key, build, as_owner=image.as_owner())
