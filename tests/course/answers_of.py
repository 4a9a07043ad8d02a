# SPDX-License-Identifier: GPL-2.0-only
"""answers_of: right and wrong answers to a question of the course."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from writestall.course import draw, tables, work
from writestall.course.facts import Facts
from writestall.course.judge import Given

SEEDS = [f"seed {number}" for number in range(20)]
# What is no root by itself, however it is said.
DISKS = [
    "vdb",
    "/dev/vdb",
    "sda",
    "vdb slow",
    "The Disk.",
    *sorted(tables.names().disk),
]


def of_seed(number: int, seed: str) -> Facts:
    """What is right about the recorded call that a seed asks about."""
    clear = work.recorded_calls(number, seed)
    return clear[work.drawn_call(Path(), clear, number, seed)]


def right(facts: Facts, quantity: str) -> Given:
    """The answer of a student who read the chain."""
    holder = facts.holder
    named = f"{holder.comm}/{holder.tid}" if holder else "none"
    return Given(named, str(facts.root), round(facts.ms[quantity], 0))


def right_of(number: int, seed: str) -> Given:
    """The same, for the question of a seed."""
    return right(of_seed(number, seed), draw.quantity(number, seed))


def wrong(facts: Facts, quantity: str) -> dict[str, Given]:
    """Answers that are wrong in one part, by that part and what is wrong with it."""
    good = right(facts, quantity)
    caller = f"{facts.write.comm}/{facts.write.tid}"
    holders = ["vdb", "the disk", caller, "systemd", "" if facts.holder else "jbd2"]
    holders += ["none", holder.comm] if (holder := facts.holder) else []
    roots = [*DISKS, "systemd", f"nvme0n1 slow for {facts.root.who}", ""]
    numbers = [0.0, facts.ms[quantity] * 1.2 + 20, facts.ms[quantity] / 2 - 20]
    made = {f"holder {said}": replace(good, holder=said) for said in holders}
    made |= {f"root {said}": replace(good, root=said) for said in roots}
    return made | {f"ms {said}": replace(good, ms=said) for said in numbers}
