# SPDX-License-Identifier: GPL-2.0-only
"""styles: a letter, a colour and a hatching for each class, in terminals and pictures.

Family and pattern are the palette's, as on the page; here they become a colour and a
hatching. The letter is drawn wherever the colour is, and is enough alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall.classify import classes as c
from writestall.classify import meanings

# As page/style.css has them.
_COLOURS = {
    "lock": "#e69f00",
    "journal": "#56b4e9",
    "disk": "#d55e00",
    "flush": "#009e73",
    "memory": "#cc79a7",
    "cpu": "#f0e442",
    "none": "#b4b4b4",
}
# Matplotlib's, for each pattern.
_HATCHES = {
    meanings.SOLID: "",
    meanings.RISING: "//",
    meanings.DOTS: "..",
    meanings.FALLING: "\\\\",
    meanings.CROSS: "xx",
    meanings.LEVEL: "--",
}
_LETTERS = {
    c.PAGE_LOCK: "P",
    c.INODE_LOCK: "I",
    c.FS_LOCK: "F",
    c.JOURNAL_BUFFER: "B",
    c.JOURNAL_TRANSACTION: "T",
    c.JOURNAL_COMMIT_WAIT: "C",
    c.JOURNAL_SPACE: "J",
    c.LOG_SPACE: "L",
    c.FS_TRANSACTION: "X",
    c.DEVICE_IO: "V",
    c.BLOCK_QUEUE: "Q",
    c.RAID_OR_DM: "R",
    c.PAGE_WRITEBACK: "W",
    c.DIRTY_THROTTLE: "D",
    c.MEMORY: "M",
    c.RUNNING: "r",
    c.RUNQUEUE: "q",
    c.OTHER: "O",
    c.UNEXPLAINED: "?",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How a class is drawn; `hatch` is Matplotlib's."""

    letter: str
    colour: str
    hatch: str


def _look(cls: str) -> Look:
    kind = meanings.kind(cls)
    return Look(_LETTERS[cls], _COLOURS[kind.family], _HATCHES[kind.pattern])


LOOKS = {cls: _look(cls) for cls in _LETTERS}
