# SPDX-License-Identifier: GPL-2.0-only
"""draw: what a seed draws for a lab: its cause, delays, and the call asked about.

The same lab and seed draw the same on every machine: random.Random seeds itself with
the SHA-512 of a text (Lib/random.py, Random.seed(), version 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from writestall.course import tables
from writestall.course.facts import ONE_IO
from writestall.course.tables import Cause, Lab


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn.

    recorded  the run that --recorded shows
    cause     of a machine's mystery, with `share` per cent of its bios delayed by
              `factor` of the scenario's delays, or the limit `wbps` of a cgroup
    luck      0 to 1: which call is asked about, once it is known which stalled
    ms        what --ms asks for
    injector_seed  of the injector's own draws
    """

    recorded: str
    cause: Cause
    share: int
    factor: float
    wbps: int
    luck: float
    injector_seed: int
    ms: str


def draw(lab: Lab, seed: str) -> Drawn:
    """What the seed draws for the lab."""
    random = Random(f"writestall course {lab.number} {seed}")
    cause = random.choice(lab.cause)
    # A limit delays no single I/O.
    asks = [ms for ms in tables.taught(lab.number).ms if ms != ONE_IO or not cause.wbps]
    return Drawn(
        recorded=random.choice(lab.recorded),
        cause=cause,
        share=random.choice(cause.share),
        factor=random.choice(tables.course().factors),
        wbps=random.choice(cause.wbps or (0,)),
        luck=random.random(),
        injector_seed=random.randrange(1, 1 << 31),
        ms=random.choice(asks),
    )


def recorded(number: int, seed: str) -> str:
    """The recorded run of a lab: the seed's, or the lab's own."""
    lab = tables.lab(number)
    return draw(lab, seed).recorded if seed else lab.shown


def quantity(number: int, seed: str) -> str:
    """What --ms asks for: the seed's, or the lab's own."""
    lab = tables.lab(number)
    return draw(lab, seed).ms if seed else lab.ms


def asked(drawn: Drawn, clear: Sequence[int]) -> int:
    """Which of these calls the question is about; there must be one."""
    most = min(len(clear), tables.course().asked)
    return clear[int(drawn.luck * most)]
