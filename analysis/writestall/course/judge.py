# SPDX-License-Identifier: GPL-2.0-only
"""judge: compare an answer with the facts; say what is wrong, and never what is right.

Every part of an answer that is wrong gets one line. The lines depend on what was said
and on its place in the chain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from writestall.chain.parts import Task
from writestall.chain.roots import THE_WRITER
from writestall.course import tables
from writestall.course.facts import ONE_IO, QUANTITIES, Facts

PARTS = ("holder", "root", "ms")
# How far a number may be off: this share of it, and this many ms.
OFF, OFF_MS = 0.05, 10.0
_SLOW_FOR = re.compile(r"(?:(?P<disk>\S+) slow for )?(?P<who>.+)")
_BEHIND = re.compile(r",? (?:\(.*\)|capped at .*|throttled.*)$")
_DISKS_NAME = re.compile(r"(?:/dev/)?(?:[sv]d[a-z]+|loop\d+|nvme\d+n\d+|dm-\d+)\d*")


@dataclass(frozen=True, slots=True)
class Given:
    """What a student says."""

    holder: str
    root: str
    ms: float


@dataclass(frozen=True, slots=True)
class Judged:
    """For each of PARTS what is wrong with it; empty where it is right."""

    wrong: dict[str, str]

    @property
    def right(self) -> int:
        """How many parts are right."""
        return sum(not line for line in self.wrong.values())

    @property
    def passed(self) -> bool:
        """Whether all are."""
        return self.right == len(PARTS)


def judge(facts: Facts, quantity: str, given: Given) -> Judged:
    """Judge an answer; `quantity` is what the lab asks --ms for."""
    return Judged(
        {
            "holder": _holder(facts, _plain(given.holder)),
            "root": _root(facts, _plain(given.root)),
            "ms": _ms(facts, quantity, given.ms),
        }
    )


def shows(facts: Facts, quantity: str) -> bool:
    """Whether the call's chain has a number: one I/O, where a wait of it is no more."""
    one_ms = facts.ms[quantity]
    return quantity != ONE_IO or any(_near(wait, one_ms) for wait in facts.ends_ms)


def _plain(text: str) -> str:
    """In lower case, one space between words, without what explain prints behind."""
    return _BEHIND.sub("", " ".join(text.lower().split())).strip(" .")


def _is_disk(said: str) -> bool:
    """Whether nothing but a disk was named."""
    bare = said.removesuffix(" slow").removesuffix(" is slow")
    return bare in tables.names().disk or bool(_DISKS_NAME.fullmatch(bare))


def threads(task: Task) -> set[str]:
    """The words that name one thread and no other, in lower case."""
    tid = str(task.tid)
    return {task.thread.lower(), tid} if task.tid else {task.name.lower()}


def names_a_thread(facts: Facts, said: str) -> bool:
    """Whether a name is not just that of threads of the chain, without a number."""
    known = any(said in threads(one) for one in facts.others)
    return known or not _are(said, facts.others)


def words(task: Task) -> set[str]:
    """The words that name a task, or its like, in lower case."""
    also = tables.names().also.get(task.name, frozenset())
    return {word.lower() for word in (task.comm, task.name, *also) if word} | threads(
        task
    )


def _are(said: str, tasks: frozenset[Task]) -> bool:
    return any(said in words(task) for task in tasks)


def _holder(facts: Facts, said: str) -> str:
    holder, caller = facts.holder, facts.write
    if _is_disk(said):
        return "a disk holds no lock: name the task, or say none if there is no task"
    if holder is None:
        if said in tables.names().nobody:
            return ""
        return "no task ends that wait: what does its line say, and what does it not?"
    if said in tables.names().nobody:
        return "a task ended that wait: the line of the longest wait names it"
    if said in threads(holder):
        return ""
    if said in (f"{caller.comm}/{caller.tid}", THE_WRITER, "itself", "the caller"):
        return "that is the call itself: for whom did it wait?"
    if not names_a_thread(facts, said):
        return "which thread is that? say it as NAME/TID, as explain prints it"
    if _are(said, facts.others):
        return (
            "that task is in the chain, but it does not hold what the call itself"
            " waited for longest: read the line below the call"
        )
    return "no such task in the chain of this call"


def _root(facts: Facts, said: str) -> str:
    match = _SLOW_FOR.fullmatch(said)
    disk, who = (match["disk"], match["who"]) if match else (None, said)
    if _is_disk(said) or _is_disk(who):
        return "the disk alone is no root: whose I/O was slow?"
    if disk and facts.root.device and disk.removeprefix("/dev/") != facts.root.device:
        return "another disk: read the name in the line of device_io"
    if who in _root_words(facts):
        return ""
    if _are(who, facts.others):
        return (
            "that task is in the chain, but it waits, too: follow the chain down to"
            " what waits for no task"
        )
    return "nothing of that name ends the chain of this call"


def _root_words(facts: Facts) -> set[str]:
    root = facts.root
    if root.cap is not None:
        name = root.who.lower()
        return {name, name.removeprefix("cgroup ")}
    own = tables.names().also[THE_WRITER] if root.who == THE_WRITER else frozenset()
    return {root.who.lower(), *own}.union(*map(words, facts.submitters))


def _ms(facts: Facts, quantity: str, said: float) -> str:
    if _near(said, facts.ms[quantity]):
        return ""
    wanted = QUANTITIES[quantity]
    for name, what in QUANTITIES.items():
        if _near(said, facts.ms[name]):
            return f"that is {what}; wanted is {wanted}"
    return f"not {wanted}: it is off by more than {OFF:.0%}"


def _near(said: float, right: float) -> bool:
    return abs(said - right) <= max(OFF * right, OFF_MS)
