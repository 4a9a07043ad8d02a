# SPDX-License-Identifier: GPL-2.0-only
"""looks: a letter, a colour and a hatching for each class, in terminals and pictures.

Colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with
any colour vision can tell apart. There are fewer than classes: a family shares one and
differs in hatching. The letter is drawn wherever the colour is, and is enough alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall import classes as c

_LOCK, _JOURNAL, _DISK, _FLUSH = "#e69f00", "#56b4e9", "#d55e00", "#009e73"
_MEMORY, _CPU, _NONE = "#cc79a7", "#f0e442", "#b4b4b4"


@dataclass(frozen=True, slots=True)
class Look:
    """How a class is drawn; `hatch` is Matplotlib's."""

    letter: str
    colour: str
    hatch: str


LOOKS = {
    c.PAGE_LOCK: Look("P", _LOCK, ""),
    c.INODE_LOCK: Look("I", _LOCK, "//"),
    c.FS_LOCK: Look("F", _LOCK, ".."),
    c.JOURNAL_BUFFER: Look("B", _JOURNAL, ""),
    c.JOURNAL_TRANSACTION: Look("T", _JOURNAL, "//"),
    c.JOURNAL_COMMIT_WAIT: Look("C", _JOURNAL, ".."),
    c.JOURNAL_SPACE: Look("J", _JOURNAL, "\\\\"),
    c.LOG_SPACE: Look("L", _JOURNAL, "xx"),
    c.FS_TRANSACTION: Look("X", _JOURNAL, "--"),
    c.DEVICE_IO: Look("V", _DISK, ""),
    c.BLOCK_QUEUE: Look("Q", _DISK, "//"),
    c.RAID_OR_DM: Look("R", _DISK, ".."),
    c.PAGE_WRITEBACK: Look("W", _FLUSH, ""),
    c.DIRTY_THROTTLE: Look("D", _FLUSH, "//"),
    c.MEMORY: Look("M", _MEMORY, ""),
    c.RUNNING: Look("r", _CPU, ""),
    c.RUNQUEUE: Look("q", _CPU, "//"),
    c.OTHER: Look("O", _NONE, ""),
    c.UNEXPLAINED: Look("?", _NONE, "\\\\"),
}
