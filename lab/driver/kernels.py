# SPDX-License-Identifier: GPL-2.0-only
"""kernels: the kernels that a comparison runs on, by their names in it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from driver import artefacts, settings
from driver.settings import Settings
from machine import recipe
from writestall_base.errors import UserError

WHAT = f"{recipe.WHAT_KERNEL}; several by commas, the first is the baseline's"


@dataclass(frozen=True)
class Kernel:
    """A kernel: its name in the comparison, and the folder of its compiled parts."""

    name: str
    settings: Settings
    built: str = ""

    def inputs(self, engine: str) -> str:
        """What the results depend on besides the plan."""
        return f"{Path(self.built).name} {engine} {self.settings.accel}"


def read(args: argparse.Namespace) -> tuple[Kernel, ...]:
    """The kernels of --kernel, the baseline's first; refuse an unknown one."""
    words = args.kernel.split(",") if args.kernel else [None]
    found = [
        settings.read(argparse.Namespace(**vars(args) | {"kernel": word}))
        for word in words
    ]
    names = zip(_names(found), found, strict=True)
    return tuple(Kernel(name, known) for name, known in names)


def _names(found: Sequence[Settings]) -> list[str]:
    """Each one's release or short name; that of its folder where releases are alike,
    and a number where those are, too."""
    names = [known.kernel_name for known in found]
    names = [
        Path(known.kernel).name if names.count(name) > 1 else name
        for name, known in zip(names, found, strict=True)
    ]
    names = [re.sub(r"[^A-Za-z0-9._+]+", "-", name).strip("-._+") for name in names]
    before = [names[:at].count(name) for at, name in enumerate(names)]
    return [
        f"{name}-{1 + earlier}" if earlier else name
        for name, earlier in zip(names, before, strict=True)
    ]


def built(found: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """The kernels with their compiled parts, and with the accelerator of measurements.

    Refuse different ones: kernels are to be compared, not clocks.
    """
    measuring = [
        replace(
            one,
            settings=one.settings.measuring(),
            built=str(artefacts.build(one.settings.kernel)),
        )
        for one in found
    ]
    clocks = {one.settings.accel: one.name for one in measuring}
    if len(clocks) > 1:
        each = ", ".join(f"{name} {clock}" for clock, name in clocks.items())
        raise UserError(f"kernels would have different clocks ({each}); give --accel")
    return tuple(measuring)


def words(found: Sequence[Kernel], engine: str) -> tuple[str, ...]:
    """The options of repro/plan that name them and their inputs."""
    if len(found) == 1:
        return "--inputs", found[0].inputs(engine)
    return tuple(
        word
        for one in found
        for word in ("--on", one.name, one.settings.kernel, one.inputs(engine))
    )
