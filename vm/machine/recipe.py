# SPDX-License-Identifier: GPL-2.0-only
"""recipe: read kernels.toml and the package lists: what an image consists of."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from machine import architectures
from machine.architectures import Architecture
from machine.own import find
from machine.own.find import OwnKernel
from writestall_base.errors import UserError

VM = Path(__file__).resolve().parent.parent
PROJECT = VM.parent
# What --kernel takes, for its help.
WHAT_KERNEL = (
    "a kernel of vm/kernels.toml, like 7.2, a built kernel tree, or /boot/vmlinuz-..."
)


@dataclass(frozen=True)
class Recipe:
    """What one of the two images consists of, and the kernel of it to use.

    `kernels` maps the short names of those in the image to suites. The full image
    also has the kernels on demand and the tools of measurements, which the default
    one leaves out to build faster.
    """

    full: bool
    packages: tuple[str, ...]
    userland_suite: str
    qemu_suite: str
    qemu_minimum: int
    kernels: dict[str, str]
    kernel: str  # a short name, or the path of `own`
    arch: Architecture = architectures.X86_64
    has_core: bool = True  # whether the compiled tracer works on that kernel
    own: OwnKernel | None = None  # instead of one of the image's


def _packages(name: str) -> tuple[str, ...]:
    """The packages of a list, its comments left out."""
    lines = (VM / name).read_text().splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def _chosen(kernels: dict[str, Any], name: str | None) -> str:
    """The short name of the kernel asked for, or of the default one."""
    if name is None:
        return next(n for n, entry in kernels.items() if entry.get("default"))
    if name not in kernels:
        known = ", ".join(kernels)
        raise UserError(
            f"unknown kernel {name!r}: this recipe has {known}; a path of yours has a /"
        )
    return name


def load(kernel: str | None = None, *, full: bool = False) -> Recipe:
    """The recipe of the image that has this kernel: the default one if it does.

    A kernel of one's own is named by a path, and runs with the default image.
    """
    if kernel is not None and find.named(kernel):
        if not architectures.chosen().is_unpacked:
            raise UserError(f"--kernel {kernel}: one's own are for x86_64 alone")
        theirs = find.find(kernel)
        return replace(
            load(full=full),
            kernel=str(theirs.given),
            has_core=theirs.has_core,
            own=theirs,
        )
    table = tomllib.loads((VM / "kernels.toml").read_text())
    kernels = table["kernel"]
    chosen = _chosen(kernels, kernel)
    full = full or kernels[chosen].get("on_demand", False)
    lists = ("packages.txt", "packages-full.txt") if full else ("packages.txt",)
    return Recipe(
        full=full,
        packages=tuple(package for name in lists for package in _packages(name)),
        userland_suite=table["userland"]["suite"],
        qemu_suite=table["qemu"]["suite"],
        qemu_minimum=table["qemu"]["minimum"],
        kernels={
            name: entry["suite"]
            for name, entry in kernels.items()
            if full or not entry.get("on_demand", False)
        },
        kernel=chosen,
        arch=architectures.chosen(),
    )


def tested(*, every: bool = False) -> tuple[str, ...]:
    """The kernels that `make test` runs on: the default image's, or every one."""
    return tuple(load(full=every).kernels)
