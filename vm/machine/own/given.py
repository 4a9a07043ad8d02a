# SPDX-License-Identifier: GPL-2.0-only
"""given: build a kernel from a source tree that somebody gives, where it is.

An old kernel wants an old compiler, so it is compiled in a root of the oldest suite of
kernels.toml whose kernel is not older: gcc 10 for all before 5.10.
"""

from __future__ import annotations

from pathlib import Path

from machine import recipe, source
from machine.own import compiler, find, kconfig
from machine.own.find import OwnKernel
from writestall_base.releases import version

# What a configuration of somebody else's may need: keys that sign its modules.
MORE = "libssl-dev"


def suite(release: str) -> str:
    """The suite whose compiler is taken for a kernel of that release."""
    kernels = recipe.load(full=True).kernels
    oldest_first = sorted(kernels, key=version)
    not_older = (one for one in oldest_first if version(one) >= version(release))
    return kernels[next(not_older, oldest_first[-1])]


def build(tree: Path) -> OwnKernel:
    """Build what is not built; a configuration that the tree has is kept.

    Raises UserError.
    """
    home = compiler.root(suite(source.release(tree)), MORE)
    make = ["make", "--directory", str(tree)]
    config = tree / ".config"
    if not config.exists():
        fragment = f"KCONFIG_ALLCONFIG={compiler.VM_INSIDE}/{kconfig.FRAGMENT.name}"
        compiler.run(home, tree, str(tree), [*make, fragment, "allnoconfig"])
    kconfig.check(config)
    parts = ["--jobs", compiler.JOBS, "bzImage", "modules"]
    compiler.run(home, tree, str(tree), [*make, *parts])
    return find.find(str(tree))
