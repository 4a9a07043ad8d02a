# SPDX-License-Identifier: GPL-2.0-only
"""settings: the options that most commands of the lab share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from driver.builds import core
from driver.commands import doctor, setup
from driver.project import PROJECT
from machine import accel, cli, image, recipe
from writestall_base.errors import UserError

# Measurements run where a busy host does not disturb the clock (machine/qemu.py).
COUNTING = "icount"


@dataclass(frozen=True)
class Settings:
    """Kernel, accelerator (None: kvm where it works, else tcg), output, verbosity."""

    kernel: str  # as recipe.load() takes it
    accel: str | None
    out: Path
    verbose: bool

    @property
    def kernel_name(self) -> str:
        """The kernel as a part of a file's name."""
        theirs = recipe.load(self.kernel).own
        return theirs.release if theirs else self.kernel

    @property
    def accel_options(self) -> list[str]:
        """The accelerator as an option of vm/vm."""
        return ["--accel", self.accel] if self.accel else []

    def measuring(self, name: str = COUNTING) -> Settings:
        """The same with an accelerator for measurements, unless one was chosen."""
        known = recipe.load(self.kernel)
        chosen = accel.counting(known, image.kernel(known), name, self.accel)
        return replace(self, accel=chosen)


def arguments(
    parser: argparse.ArgumentParser, kernel: str = recipe.WHAT_KERNEL
) -> None:
    """Add the options; `kernel` says what --kernel takes."""
    add = parser.add_argument
    add("--kernel", metavar="KERNEL", help=kernel)
    cli.add_arch(parser)
    cli.add_accel(parser)
    out = "where results go (out)"
    add("--out", type=Path, default=PROJECT / "out", metavar="DIR", help=out)
    setup.add_no_install(parser)
    add("-v", "--verbose", action="store_true", help="show what each stage prints")


def read(args: argparse.Namespace) -> Settings:
    """The settings; refuse an unknown kernel."""
    kernel = recipe.load(args.kernel).kernel
    return Settings(kernel, args.accel, args.out.absolute(), args.verbose)


def add_engine(parser: argparse.ArgumentParser, engines: Sequence[str]) -> None:
    """Add --engine; the first is the default."""
    first = engines[0]
    text = f"the tracer ({first})"
    parser.add_argument("--engine", choices=engines, default=first, help=text)


def check_engine(engine: str, kernel: str) -> None:
    """Refuse an engine that does not work on a kernel, or is not built on this host."""
    arch = recipe.load(kernel).arch
    if engine not in (*arch.engines, "none"):
        known = ", ".join(arch.engines)
        raise UserError(
            f"--engine {engine} does not work with --arch {arch.name}:"
            f" use --engine {known}"
        )
    if engine in ("core", "both"):
        core.check(arch)
        if not recipe.load(kernel).has_core:
            raise UserError(
                f"--engine {engine} does not work on kernel {kernel}: use --engine stap"
            )


def check_room() -> None:
    """Refuse a cache whose disk is too small."""
    room = doctor.cache_room()
    if not room.good:
        raise UserError(f"too little {room.what}: {room.reason}; {room.remedy}")
