# SPDX-License-Identifier: GPL-2.0-only
"""stuck: describe one stuck task of a log and its links to others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from writestall.classify.stack import Verdict, first_caller
from writestall.log.disks import Disk, disks_of
from writestall.log.file_systems import file_systems_of
from writestall.log.reading import LoggedTask

# include/linux/fs.h: what an inode's lock is taken through, where a log shows it.
_WRAPPER = re.compile(r"_*inode_lock(_\w+)?|btrfs_inode_lock")

TOLD, LIKELY, POSSIBLE = "told", "likely", "possible"


@dataclass(frozen=True, eq=False)
class Stuck:
    """One stuck task in one kind of wait, and in which shots of the log it was seen.

    `guessed`: only frames the kernel doubts (`?`) gave the class. `owner`: it is no
    stuck task itself, but the kernel names it as the owner of a lock.
    """

    task: LoggedTask
    verdict: Verdict
    role: str
    guessed: bool = False
    shots: frozenset[int] = frozenset()
    times: int = 1
    owner: bool = False

    @property
    def name(self) -> str:
        """`comm/pid`, as far as the log tells; else the stack's line."""
        comm, pid = self.task.comm, self.task.pid
        if pid is not None:
            return f"{comm or '?'}/{pid}"
        return comm or f"line {self.task.line}"

    @cached_property
    def file_systems(self) -> frozenset[str]:
        """The file systems its functions belong to."""
        return file_systems_of(self.task.frames or self.task.guesses)

    @cached_property
    def disks(self) -> frozenset[Disk]:
        """The disks its name or its work's name tells."""
        return disks_of(self.task.comm, self.task.workqueue)

    def shows(self, pattern: re.Pattern[str]) -> bool:
        """True when a function on its stack matches."""
        frames = self.task.frames or self.task.guesses
        return any(pattern.fullmatch(frame.symbol) for frame in frames)

    @cached_property
    def caller(self) -> str:
        """The innermost function that is none of sleeping: what chose to wait."""
        frames = self.task.frames or self.task.guesses
        while frames and _WRAPPER.fullmatch(name := first_caller(frames)):
            at = next(i for i, frame in enumerate(frames) if frame.symbol == name)
            if at + 1 == len(frames):
                return name
            frames = frames[at + 1 :]
        return first_caller(frames)

    def takes(self, function: str) -> bool:
        """True when this function called into the sleep, as far as frames tell."""
        return self.caller == function or first_caller(self.task.frames) == function


@dataclass(frozen=True, slots=True)
class Link:
    """`waiter` waits for `holder`, for the reason in `why`.

    `rule` is the rule that made a guess of it; empty where the kernel told.
    """

    waiter: Stuck
    holder: Stuck
    confidence: str
    why: str
    rule: str = ""
