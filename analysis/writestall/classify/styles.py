# SPDX-License-Identifier: GPL-2.0-only
"""styles: the letter, colour, pattern and meaning of each kind of time.

The one table for the terminal, the pictures, the pages and docs/export.md. Kinds of one
family share a colour, and each has its own pattern. A letter or a name is always drawn
beside the colour. The light colours, but PROGRAM's, are those of Okabe and Ito, "Color
Universal Design" (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from writestall_base import wait_classes as c


class Family(Enum):
    """A colour of related kinds: on light paper, on a dark screen."""

    LOCK = "#e69f00", "#b97f00"
    JOURNAL = "#56b4e9", "#2c7fb0"
    DISK = "#d55e00", "#b84f00"
    FLUSH = "#009e73", "#007f5c"
    MEMORY = "#cc79a7", "#a85c86"
    CPU = "#f0e442", "#9c9420"
    PROGRAM = "#b3a2e6", "#7c6bb8"
    NONE = "#b4b4b4", "#6a6d70"


class Pattern(Enum):
    """A pattern: Matplotlib's hatch, and paths on a tile of 8 by 8 for SVG."""

    SOLID = "", ""
    RISING = "//", "M-2,2 L2,-2 M0,8 L8,0 M6,10 L10,6"
    DOTS = "..", "M2.6,2 a.6,.6 0 1 1 0-.01 Z M6.6,6 a.6,.6 0 1 1 0-.01 Z"
    FALLING = "\\\\", "M-2,6 L2,10 M0,0 L8,8 M6,-2 L10,2"
    CROSS = "xx", "M4,0 V8 M0,4 H8"
    LEVEL = "--", "M0,2 H8 M0,6 H8"


@dataclass(frozen=True, slots=True)
class Style:
    """How a kind of time is drawn, and `words`: what it means.

    The phases of a commit and the parts of an application's time have no letter: they
    are drawn on pages alone.
    """

    name: str
    letter: str
    family: Family
    pattern: Pattern
    words: str

    @property
    def colour(self) -> str:
        """The colour on light paper and in terminals."""
        return str(self.family.value[0])

    @property
    def hatch(self) -> str:
        """Matplotlib's hatch."""
        return str(self.pattern.value[0])

    @property
    def path(self) -> str:
        """The pattern's SVG path; empty for a plain colour."""
        return str(self.pattern.value[1])


lock, journal, disk, flush, memory, cpu, program, none = Family
solid, rising, dots, falling, cross, level = Pattern
STYLES = {
    row[0]: Style(*row)
    for row in (
        (c.PAGE_LOCK, "P", lock, solid, "a page's or folio's lock"),
        (c.INODE_LOCK, "I", lock, rising, "the inode's lock, i_rwsem"),
        (c.FS_LOCK, "F", lock, dots, "an inner lock of the file system"),
        (c.JOURNAL_BUFFER, "B", journal, solid, "a metadata block under commit"),
        (c.JOURNAL_TRANSACTION, "T", journal, rising, "a handle in a new transaction"),
        (c.JOURNAL_COMMIT_WAIT, "C", journal, dots, "the end of a commit (fsync)"),
        (c.JOURNAL_SPACE, "J", journal, falling, "room in the journal: a checkpoint"),
        (c.LOG_SPACE, "L", journal, cross, "room in the XFS log"),
        (c.FS_TRANSACTION, "X", journal, level, "a transaction or checkpoint"),
        (c.DEVICE_IO, "V", disk, solid, "the I/O itself"),
        (c.BLOCK_QUEUE, "Q", disk, rising, "tags, requests, throttling of the queue"),
        (c.RAID_OR_DM, "R", disk, dots, "md's or device-mapper's own"),
        (c.PAGE_WRITEBACK, "W", flush, solid, "a page's writeback, stable pages"),
        (c.DIRTY_THROTTLE, "D", flush, rising, "balance_dirty_pages()'s pause"),
        (c.MEMORY, "M", memory, solid, "reclaim or allocation"),
        (c.USER_LOCK, "U", program, solid, "a lock or condition of the program"),
        (c.FILE_LOCK, "K", program, rising, "the lock of a file: flock(2), fcntl(2)"),
        (c.MESSAGE, "m", program, dots, "a message: pipe, socket, poll(2)"),
        (c.CHILD_EXIT, "e", program, falling, "the end of a child process"),
        (c.TIMER, "t", program, level, "asleep until a time"),
        (c.EVENT, "v", program, cross, "another event outside file systems"),
        (c.RUNNING, "r", cpu, solid, "on a CPU, or preempted"),
        (c.RUNQUEUE, "q", cpu, rising, "woken, waiting for a CPU"),
        (c.OTHER, "O", none, solid, "sleeps no rule knows, or too short to trace"),
        (c.SHORT_SLEEPS, "s", none, dots, "sleeps shorter than the floor"),
        (c.UNEXPLAINED, "?", none, falling, "no event explains it"),
        ("locking", "", flush, dots, "a commit waits for open handles"),
        ("flushing", "", flush, falling, "file data that must come first"),
        ("logging", "", disk, level, "metadata into the log"),
        ("finishing", "", none, level, "the rest of a commit"),
        ("own", "", memory, level, "the application's: in a call of its own"),
        (
            "meanwhile",
            "",
            memory,
            falling,
            "unknown: another task was in a call (inferred)",
        ),
        ("unknown", "", none, rising, "unknown"),
        ("queue", "", lock, cross, "the application's: no thread was free"),
        ("lock", "", lock, level, "the application's lock, held by another request"),
        ("reach", "", cpu, dots, "until the last thread stopped"),
        ("release", "", cpu, falling, "until all threads were released"),
        ("call", "", memory, dots, "a stalled call, from its first sleep to its last"),
    )
}
ORDER = {name: at for at, name in enumerate(STYLES)}


def is_marked(name: str) -> bool:
    """Whether a kind's colour carries a pattern."""
    return bool(STYLES.get(name, STYLES[c.OTHER]).path)


def legend(names: set[str]) -> list[Style]:
    """The styles of the kinds that occur, in the order of the table."""
    return [row for name, row in STYLES.items() if name in names]


def palette_css() -> str:
    """CSS variables of the families' colours, and the class that fills with each."""
    light, dark = (
        " ".join(f"--{one.name.lower()}: {one.value[at]};" for one in Family)
        for at in (0, 1)
    )
    names = [family.name.lower() for family in Family]
    rules = [
        f":root {{ {light} }}",
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}",
        *(f".f-{name} {{ fill: var(--{name}); }}" for name in names),
    ]
    return "\n".join(rules) + "\n"
