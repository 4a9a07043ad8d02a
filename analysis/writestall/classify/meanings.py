# SPDX-License-Identifier: GPL-2.0-only
"""meanings: what each kind of time looks like on the page, and what it means.

A family of kinds shares a colour, a kind within it has a pattern of its own, and its
name stands beside it: nothing is told by colour alone. The colours are those of Okabe
and Ito, "Color Universal Design" (2008), and stand in page/style.css.
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall.classify import classes as c

SOLID, RISING, DOTS, FALLING, CROSS, LEVEL = (
    "solid",
    "rising",
    "dots",
    "falling",
    "cross",
    "level",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of time: `family` is its colour, `words` what it means."""

    name: str
    family: str
    pattern: str
    words: str


KINDS = {
    row[0]: Kind(*row)
    for row in (
        (c.PAGE_LOCK, "lock", SOLID, "a page's or folio's lock"),
        (c.INODE_LOCK, "lock", RISING, "the inode's lock, i_rwsem"),
        (c.FS_LOCK, "lock", DOTS, "an inner lock of the file system"),
        (c.JOURNAL_BUFFER, "journal", SOLID, "a metadata block under commit"),
        (c.JOURNAL_TRANSACTION, "journal", RISING, "a handle in a new transaction"),
        (c.JOURNAL_COMMIT_WAIT, "journal", DOTS, "the end of a commit (fsync)"),
        (c.JOURNAL_SPACE, "journal", FALLING, "room in the journal: a checkpoint"),
        (c.LOG_SPACE, "journal", CROSS, "room in the XFS log"),
        (c.FS_TRANSACTION, "journal", LEVEL, "a transaction or checkpoint"),
        (c.DEVICE_IO, "disk", SOLID, "the I/O itself"),
        (c.BLOCK_QUEUE, "disk", RISING, "tags, requests, throttling of the queue"),
        (c.RAID_OR_DM, "disk", DOTS, "md's or device-mapper's own"),
        (c.PAGE_WRITEBACK, "flush", SOLID, "a page's writeback, stable pages"),
        (c.DIRTY_THROTTLE, "flush", RISING, "balance_dirty_pages()'s pause"),
        (c.MEMORY, "memory", SOLID, "reclaim or allocation"),
        (c.RUNNING, "cpu", SOLID, "on a CPU, or preempted"),
        (c.RUNQUEUE, "cpu", RISING, "woken, waiting for a CPU"),
        (c.OTHER, "none", SOLID, "sleeps no rule knows, or too short to trace"),
        (c.SHORT_SLEEPS, "none", DOTS, "sleeps shorter than the floor"),
        (c.UNEXPLAINED, "none", FALLING, "no event tells"),
        ("locking", "flush", DOTS, "a commit waits for open handles"),
        ("flushing", "flush", FALLING, "file data that must come first"),
        ("logging", "disk", LEVEL, "metadata into the log"),
        ("finishing", "none", LEVEL, "the rest of a commit"),
    )
}


def kind(name: str) -> Kind:
    """How a kind of time looks; one that nobody listed looks like `other`."""
    return KINDS.get(name, KINDS[c.OTHER])


def is_marked(name: str) -> bool:
    """Whether a kind's colour carries a pattern."""
    return kind(name).pattern != SOLID


def legend(names: set[str]) -> list[Kind]:
    """The kinds that occur, in the order of the table."""
    return [row for name, row in KINDS.items() if name in names]
