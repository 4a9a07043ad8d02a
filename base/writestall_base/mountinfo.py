# SPDX-License-Identifier: GPL-2.0-only
"""mountinfo: read the table of mounts (proc(5), /proc/PID/mountinfo)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

OWN = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Mount:
    """A line of the table.

    dev      MAJ:MIN of the superblock (fs/proc_namespace.c, show_mountinfo()), which is
             what a tracer sees of a file; of btrfs, stat(2) gives each subvolume's own
    root     the folder of the file system that is mounted
    options  those of the mount, then those of the superblock
    """

    dev: str
    root: str
    point: str
    type: str
    source: str
    options: str


def read(path: Path = OWN) -> list[Mount]:
    """The mounts of a table, in order."""
    return parse(path.read_text(errors="surrogateescape").split("\n"))


def parse(lines: Iterable[str]) -> list[Mount]:
    """The mounts of the lines of a table, in order."""
    return [_mount(line) for line in lines if line]


def _mount(line: str) -> Mount:
    before, _, after = line.partition(" - ")
    _, _, dev, root, point, options = before.split(" ")[:6]
    kind, source, *rest = after.split(" ")
    every = dict.fromkeys(",".join([options, *rest]).split(","))
    root, point, source = map(_plain, (root, point, source))
    return Mount(dev, root, point, kind, source, ",".join(every))


def _plain(name: str) -> str:
    """mangle_path() of fs/seq_file.c writes blanks and backslashes in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), name)


def mount_of(path: Path, mounts: Sequence[Mount]) -> Mount | None:
    """The mount that holds a path, which is absolute and without links."""
    found = {one.point: one for one in mounts}
    above = map(str, (path, *path.parents))
    return next((found[up] for up in above if up in found), None)
