# SPDX-License-Identifier: GPL-2.0-only
"""asked: name what a task waits for where its class says too little, and who has it.

The rules of holders/ know the lock by the function that chose to wait; sections.txt
knows it by the functions that take one.
"""

from __future__ import annotations

from writestall.log.holders import HOLDERS, module_works
from writestall.log.holders.form import Holder, functions
from writestall.log.holders.sections import takers, wanted
from writestall.log.stuck import Stuck


def _rules(waiter: Stuck) -> list[Holder]:
    """The rules about what chose to wait, where all are about one lock. Where the stack
    does not show how the task sleeps, those of any class."""
    known = HOLDERS[waiter.verdict.cls]
    if waiter.is_headless and not waiter.verdict.rule:
        known = tuple(rule for row in HOLDERS.values() for rule in row)
    rules = [
        rule
        for rule in dict.fromkeys(known)
        if rule.caller and rule not in module_works.RULES and rule.asks(waiter)
    ]
    if len({rule.lock for rule in rules}) != 1:
        return []
    # One function may take a lock of a rule in one way and sleep in another.
    other = wanted(waiter)
    told = not other or any(name in rules[0].lock for name in other.split(" or "))
    return rules if told else []


def words(waiter: Stuck, vague: str) -> str:
    """What it does, with the name of what it waits for; empty where nothing has one."""
    if rules := _rules(waiter):
        return f"waits for {rules[0].lock}"
    listed = waiter.wanted.name if waiter.wanted else ""
    names = wanted(waiter) or listed
    return f"{vague} ({names})" if names else ""


def holders(waiter: Stuck) -> list[str]:
    """Functions on the stack of who may have it."""
    if rules := _rules(waiter):
        return [name for rule in rules for name in functions(rule.shows)]
    return takers(waiter) if wanted(waiter) else []
