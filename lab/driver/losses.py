# SPDX-License-Identifier: GPL-2.0-only
"""losses: cut the machines of a comparison's options, to show what each keeps.

crash/OPTION/NUMBER/ has what repro/crash found after that cut, and both machines' logs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import cuts
from driver.commands.crash import SECONDS, Cache, Cut
from driver.kernels import Kernel
from driver.progress import StageLog
from driver.settings import Settings
from writestall_base import files, plans
from writestall_base.command_line import whole
from writestall_base.errors import UserError
from writestall_base.folders import refuse_special

FOLDER = "crash"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which cuts are made."""
    add = parser.add_argument
    cut = f"write S seconds, cut the machine, count the losses ({SECONDS}; 0: no)"
    add("--cut", type=whole(0), default=SECONDS, metavar="S", help=cut)
    times = "cut each option's machine N times, at random moments up to S (1)"
    add("--cuts", type=whole(), default=1, metavar="N", help=times)
    cache = "in these cuts, the disk loses writes that no flush followed"
    add("--volatile-cache", action="store_true", help=cache)


@dataclass(frozen=True)
class Asked:
    """How often to cut each option's machine, and after how many seconds of writing.

    The first cut is after `seconds`, the others at random moments before.
    """

    cuts: int
    seconds: int
    volatile: bool = False

    @classmethod
    def of(cls, args: argparse.Namespace) -> Asked:
        """What the options say."""
        return cls(args.cuts, args.cut, args.volatile_cache)

    @property
    def words(self) -> str:
        """The options that say the same."""
        volatile = " --volatile-cache" * self.volatile
        return f"--cut {self.seconds} --cuts {self.cuts}{volatile}"

    def cache(self, number: int, seed: int) -> Cache | None:
        """What the disk's cache loses in a cut: in every other one all that it may."""
        if not self.volatile:
            return None
        return Cache(f"{seed}/{number}", 1.0 if number % 2 else 0.5)

    def moment_s(self, number: int, seed: int) -> float:
        """When a cut is made: the same moment with each option."""
        if number == 1:
            return self.seconds
        source = random.Random(f"{seed}/{number}")
        return round(source.uniform(cuts.EARLIEST_S, self.seconds), 3)

    @property
    def price(self) -> tuple[str, ...]:
        """The options of repro/plan that name what each option's cuts take: how many
        they are, and the seconds of writing that are to be expected."""
        if not self.seconds:
            return ()
        writing_s = (
            self.seconds + (self.cuts - 1) * (cuts.EARLIEST_S + self.seconds) / 2
        )
        return "--cuts", str(self.cuts), str(writing_s)


def prepare(comparison: Path, kernels: Sequence[Kernel], asked: Asked) -> None:
    """Keep what was found with the same programs, disk and time; set aside the rest."""
    refuse_special(comparison)
    folder = comparison / FOLDER
    folder.mkdir(exist_ok=True)
    plan = plans.read(comparison)
    disk = json.dumps([plan["profile"], plan["workload"].get("sysctl")])
    parts = " ".join(kernel.built for kernel in kernels)
    cache = " volatile" if asked.volatile else ""
    _keep_earlier(folder, f"{parts} {asked.seconds}{cache} {disk}\n")


def left(comparison: Path, asked: Asked) -> list[int]:
    """The numbers of which not every option's cut is made."""
    return [number for number, made in _made(comparison, asked) if not all(made)]


def make(
    log: StageLog,
    comparison: Path,
    kernels: Sequence[Kernel],
    asked: Asked,
    numbers: Iterable[int],
) -> None:
    """Make the cuts of these numbers that are not made yet.

    The disk is the comparison's own, each cut's that of a round.
    """
    plan = plans.read(comparison)
    for number in numbers:
        for name, cell in _of_round(plan, number):
            kept = _kept(comparison, name, number)
            kept.parent.mkdir(parents=True, exist_ok=True)
            if not kept.exists():
                one = Cut(
                    kept.parent,
                    *_on(kernels, cell),
                    asked.moment_s(number, plan["seed"]),
                    {kept.stem: comparison / cell["scenario"]},
                    cache=asked.cache(number, plan["seed"]),
                )
                with suppress(UserError):
                    one.kept(log, kept.stem)


def result(comparison: Path, asked: Asked) -> str:
    """A line about the cuts that are made."""
    found = [one for _, made in _made(comparison, asked) for one in made]
    return f"{sum(found)} of {len(found)} cuts done"


def _made(comparison: Path, asked: Asked) -> Iterator[tuple[int, list[bool]]]:
    """Each number, and for each option whether that cut is made."""
    plan = plans.read(comparison)
    for number in range(1, asked.cuts + 1):
        kept = [_kept(comparison, name, number) for name, _ in _of_round(plan, number)]
        yield number, [path.exists() for path in kept]


def _kept(comparison: Path, name: str, number: int) -> Path:
    """Where a cut of an option says what it kept."""
    return comparison / FOLDER / name / str(number) / f"{name.partition('@')[0]}.json"


def _on(kernels: Sequence[Kernel], cell: dict[str, Any]) -> tuple[Settings, str]:
    """The settings and the compiled parts of a cell's kernel."""
    name = cell.get("kernel", kernels[0].name)
    return next((one.settings, one.built) for one in kernels if one.name == name)


def _keep_earlier(folder: Path, inputs: str) -> None:
    """Set aside what was found with other inputs."""
    known = folder / "inputs"
    before = files.content(known).decode() if known.exists() else inputs
    if before != inputs:
        place = plans.earlier(folder.parent, before)
        place.mkdir(parents=True, exist_ok=True)
        folder.rename(place / FOLDER)
        folder.mkdir()
    files.save_inside(folder, known.name, inputs.encode())


def _of_round(plan: dict[str, Any], number: int) -> list[tuple[str, dict[str, Any]]]:
    """Each option that is cut, and one of its cells, whose disk has the seed of a
    round: as many cuts as rounds have different ones."""
    at = 1 + (number - 1) % plan["rounds"]
    of_all = {cell["option"]: cell for cell in plan["cells"] if cell["round"] == at}
    return [(name, of_all[name]) for name in plans.cut_options(plan)]
