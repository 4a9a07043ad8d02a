# SPDX-License-Identifier: GPL-2.0-only
"""axes: cross options with kernels and severities of the disk: the treatments that each
round has once.

An option on another kernel than the first is compared with itself on the first; on the
first, it is compared with the baseline. On a disk whose delays are longer or shorter
than those of the baseline's, it is compared with the baseline's option on that disk,
and that with the baseline.

A machine boots one kernel, so that a round's treatments of one kernel share a machine.
Machines may differ by more than their kernels, so the baseline's repetition has one of
its own: two boots of the same kernel are what a difference between kernels has to
exceed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from labrun.comparison import severity
from labrun.comparison.matrix import Option
from writestall_base.errors import UserError

AGAIN = "-again"
KERNEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class Kernel:
    """A kernel: its name in the comparison, what --kernel takes, and what else the
    results there depend on."""

    name: str
    given: str
    inputs: str = ""

    @property
    def stem(self) -> str:
        """Its name as a part of a scenario's name."""
        return "-".join(re.findall(r"[a-z0-9]+", self.name.lower()))


@dataclass(frozen=True)
class Treatment:
    """An option, on a kernel where there are several, and with the disk's delays by a
    factor.

    `repeats` and `against` are names of treatments: the one that it is once more, and
    the one that it is compared with instead of the baseline.
    """

    option: Option
    kernel: Kernel | None = None
    factor: float | None = None
    repeats: str | None = None
    against: str | None = None

    @property
    def severity(self) -> str | None:
        """The factor as the report has it: `2x`."""
        return None if self.factor is None else severity.label(self.factor)

    @property
    def name(self) -> str:
        """Its name in the report: `ext4-default`, or `ext4-default@7.2@2x`."""
        kernel = self.kernel.name if self.kernel else None
        return "@".join(filter(None, (self.option.name, kernel, self.severity)))

    @property
    def stem(self) -> str:
        """Its name as a part of a scenario's name, and of folders."""
        kernel = f"-on-{self.kernel.stem}" if self.kernel else ""
        disk = f"-by-{self.severity.replace('.', '-')}" if self.severity else ""
        return self.option.name + kernel + disk

    @property
    def machine(self) -> str:
        """Which treatments of a round share its machine; empty: all of all rounds."""
        if not self.kernel:
            return ""
        return self.kernel.name + (AGAIN if self.repeats else "")

    @property
    def row(self) -> dict[str, str]:
        """What a plan says of it besides its option."""
        found = {"name": self.name, "what": self.option.what}
        found |= {"repeats": self.repeats} if self.repeats else {}
        found |= {"against": self.against} if self.against else {}
        if self.kernel:
            found |= {"kernel": self.kernel.name}
        return found | ({"severity": self.severity} if self.severity else {})


def treatments(
    options: Sequence[Option],
    kernels: Sequence[Kernel],
    factors: Sequence[float],
    baseline: str | None,
) -> list[Treatment]:
    """The baseline, itself once more, and the others. Raises UserError.

    Without kernels and factors, the treatments are the options. A baseline that names
    none is the option on the first one.
    """
    _refuse_alike(kernels)
    axes = (kernels or (None,), factors or (None,), options)
    every = [
        Treatment(option, kernel, factor) for kernel, factor, option in product(*axes)
    ]
    named = {one.option.name: one for one in reversed(every)}
    named |= {one.name: one for one in every}
    if baseline and baseline not in named:
        known = ", ".join(one.name for one in every)
        raise UserError(f"--baseline {baseline}: not one of {known}")
    first = named[baseline] if baseline else every[0]
    what = f"{first.name} once more: the noise floor"
    twin = replace(first.option, name=first.option.name + AGAIN, what=what)
    again = replace(first, option=twin, repeats=first.name)
    others = [_compared(one, first) for one in every if one is not first]
    return [first, again, *others]


def _compared(one: Treatment, baseline: Treatment) -> Treatment:
    """The treatment with what it is compared with."""
    if one.kernel is not baseline.kernel:
        return replace(one, against=replace(one, kernel=baseline.kernel).name)
    if one.factor == baseline.factor:
        return one
    there = replace(baseline, factor=one.factor)
    return replace(one, against=(baseline if one == there else there).name)


def _refuse_alike(kernels: Sequence[Kernel]) -> None:
    stems: set[str] = set()
    for kernel in kernels:
        if not KERNEL_NAME.fullmatch(kernel.name) or kernel.stem in stems:
            raise UserError(
                f"--kernel {kernel.name}: want a name of its own, like 7.2 or 7.2-rc1"
            )
        stems.add(kernel.stem)


def shuffled(
    found: Sequence[Treatment], loads: Sequence[int], source: random.Random
) -> list[tuple[Treatment, int]]:
    """A round's treatments and loads in random order: machine by machine, and within
    each machine."""
    machines = list(dict.fromkeys(one.machine for one in found))
    source.shuffle(machines)
    order = []
    for machine in machines:
        there = [
            (one, load) for load in loads for one in found if one.machine == machine
        ]
        source.shuffle(there)
        order += there
    return order
