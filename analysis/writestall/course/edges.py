# SPDX-License-Identifier: GPL-2.0-only
"""edges: judge a chain that a student made from the events, edge by edge.

A chain is WAIT=HOLDER,WAIT=HOLDER ... from the call down: each holder waits as the next
edge says. Where no task holds anything, the holder is `none`, the disk, or left out.
"""

from __future__ import annotations

from itertools import zip_longest

from writestall.chain.parts import Part
from writestall.course import tables
from writestall.course.facts import Facts
from writestall.course.judge import names_a_thread, threads
from writestall.course.limits import MOST_WORD
from writestall_base.errors import UserError
from writestall_base.wait_classes import DOES

Edge = tuple[str, str]


def parse(text: str) -> list[Edge]:
    """The edges of a text; raises UserError where it is no chain."""
    found = []
    for one in text.split(","):
        wait, _, holder = one.partition("=")
        if (wait := wait.strip()) not in DOES:
            raise UserError(f"{wait[:MOST_WORD]!a}: want one of {', '.join(DOES)}")
        found.append((wait, " ".join(holder.lower().split())))
    return found


def text(facts: Facts) -> str:
    """The right chain."""
    return ",".join(f"{part.cls}={_holder(part)}" for part in facts.path)


def _holder(part: Part) -> str:
    return part.holder.thread if part.holder else "none"


def judge(facts: Facts, chain: str) -> list[str]:
    """What is wrong with each edge, and with the end; empty where it is right."""
    return [
        _edge(facts, said, right)
        for said, right in zip_longest(parse(chain), facts.path)
    ]


def _edge(facts: Facts, said: Edge | None, right: Part | None) -> str:
    if said is None:
        return "the chain goes on: what does the last holder wait for?"
    if right is None:
        return "the chain has ended before: that holder waits for no task and no disk"
    wait, holder = said
    if wait != right.cls:
        return "another wait: in which function of its kstack does that task sleep?"
    if _is_held(facts, right, holder):
        return ""
    if names_a_thread(facts, holder):
        return "the wait is right, who held it is not: who woke that task, from where?"
    return "which thread is that? say it as NAME/TID, as the events have comm and tid"


def _is_held(facts: Facts, part: Part, said: str) -> bool:
    if part.holder:
        return said in threads(part.holder)
    return said in ("", facts.root.device, *tables.names().nobody)
