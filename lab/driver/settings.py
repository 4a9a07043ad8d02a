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
    """Add --engine; what engine() takes for it if it is not given is the first that
    works with --arch."""
    only = engines[0] if len(engines) == 1 else None
    text = f"the tracer ({engines[0]}, or the first that works with --arch)"
    parser.add_argument("--engine", choices=engines, default=only, help=text)


def engine(asked: str | None, kernel: str) -> str:
    """The engine to trace with; refuse one that does not work on a kernel, or is not
    built on this host."""
    arch = recipe.load(kernel).arch
    chosen = asked or arch.engines[0]
    if chosen not in (*arch.engines, "none"):
        known = ", ".join(arch.engines)
        raise UserError(
            f"--engine {chosen} does not work with --arch {arch.name}, only {known}"
        )
    if chosen in ("core", "both"):
        core.check(arch)
        if not recipe.load(kernel).has_core:
            raise UserError(
                f"--engine {chosen} does not work on kernel {kernel}: use --engine stap"
            )
    return chosen


def check_room() -> None:
    """Refuse a cache whose disk is too small."""
    room = doctor.cache_room()
    if not room.good:
        raise UserError(f"too little {room.what}: {room.reason}; {room.remedy}")
