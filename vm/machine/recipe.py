# SPDX-License-Identifier: GPL-2.0-only
"""recipe: packages.txt and kernels.toml to what an image is made of."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from machine.errors import UserError

VM = Path(__file__).resolve().parent.parent
PROJECT = VM.parent


@dataclass(frozen=True)
class Recipe:
    """What the image consists of; `kernels` maps short names to suites.

    `tested` are the kernels that `make test` runs on.
    """

    packages: tuple[str, ...]
    userland_suite: str
    qemu_suite: str
    qemu_minimum: int
    kernels: dict[str, str]
    default_kernel: str
    tested: tuple[str, ...]

    def kernel(self, name: str | None) -> str:
        """The short name of the kernel asked for, or of the default one."""
        chosen = name or self.default_kernel
        if chosen not in self.kernels:
            known = ", ".join(self.kernels)
            raise UserError(f"unknown kernel {chosen!r}: this recipe has {known}")
        return chosen


def load() -> Recipe:
    """Read the recipe that stands beside this package."""
    lines = (VM / "packages.txt").read_text().splitlines()
    table = tomllib.loads((VM / "kernels.toml").read_text())
    kernels = table["kernel"]
    every = os.environ.get("WRITESTALL_EVERY_KERNEL") == "1"
    return Recipe(
        packages=tuple(line for line in lines if line and not line.startswith("#")),
        userland_suite=table["userland"]["suite"],
        qemu_suite=table["qemu"]["suite"],
        qemu_minimum=table["qemu"]["minimum"],
        kernels={name: entry["suite"] for name, entry in kernels.items()},
        default_kernel=next(n for n, entry in kernels.items() if entry.get("default")),
        tested=tuple(
            name
            for name, entry in kernels.items()
            if every or not entry.get("on_demand")
        ),
    )
