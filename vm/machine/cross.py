# SPDX-License-Identifier: GPL-2.0-only
"""cross: the host's compiler for an image of another processor.

A compiler of the image's own would be emulated: for the module of aarch64 it took ten
minutes and more, this one takes two (docs/install.md).
"""

from __future__ import annotations

import re
from pathlib import Path

from machine import architectures, image
from machine.image import Kernel
from machine.recipe import Recipe
from writestall_base.errors import UserError

PLACE = "/mnt/cross"  # in the image's root
# Debian's headers name the compiler of their kernel (linux, debian/rules.real).
NAMED = re.compile(r"\b(gcc-\d+)$", re.M)


def _compiler(kernel: Kernel) -> str:
    """The compiler that the headers of a kernel call, like gcc-14."""
    file = kernel.tree / "usr/src" / f"linux-headers-{kernel.release}/.kernelvariables"
    found = NAMED.search(file.read_text())
    if found is None:
        raise UserError(f"{file} names no compiler")
    return found[1]


def _tree(recipe: Recipe, compiler: str) -> Path:
    """The compiler with its libraries, and nothing else."""
    package = f"{compiler}-{recipe.arch.gnu}".replace("_", "-")
    suite = recipe.kernels[recipe.kernel]
    return image.rooted("cross", suite, package, variant="extract")


def binds(recipe: Recipe, kernel: Kernel) -> list[str]:
    """What enter.sh binds for it; nothing for an image of the host's processor."""
    if recipe.arch.is_host:
        return []
    tree, libraries = _tree(recipe, _compiler(kernel)), architectures.host().libraries
    return [f"{tree}:{PLACE}:ro", f"{tree / libraries}:/{libraries}:ro"]


def preparation(recipe: Recipe) -> str:
    """The shell commands that make it run in the image's root by its own name."""
    if recipe.arch.is_host:
        return ":"
    host = architectures.host()
    loader = Path(host.loader)
    return (
        f"mkdir --parents {loader.parent}"
        f" && ln --symbolic /{host.libraries}/{loader.name} {loader}"
        f" && export PATH={PLACE}/usr/bin:$PATH"
    )


def compiler(recipe: Recipe, kernel: Kernel) -> str:
    """The words that compile a program in the image's root.

    An unpacked root has no link `cc` (image._unpack_all()). The C library is that of
    the image, its start files (crt1.o) included.
    """
    arch = recipe.arch
    if arch.is_host:
        return "gcc"
    return f"{arch.gnu}-{_compiler(kernel)} --sysroot=/ -B/{arch.libraries}"
