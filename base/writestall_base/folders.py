# SPDX-License-Identifier: GPL-2.0-only
"""folders: read and write a folder that others may have written to.

A run directory comes from a guest or from a stranger. It holds files and folders alone;
what is written into it goes to a new file below the opened folder, which then takes the
name (openat(2) with O_EXCL and O_NOFOLLOW, fsync(2), renameat(2)). The folder itself is
named by the user, and may be a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import BinaryIO

from writestall_base.errors import UserError

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def not_regular(mode: int) -> str:
    """What an st_mode is of, where that is no regular file."""
    return f"{_KINDS.get(stat.S_IFMT(mode), 'a folder')}, not a regular file"


def refuse_special(folder: Path) -> None:
    """Raises UserError at the first link, FIFO, socket or device in a folder or
    in one below it; what cannot be looked into is left to who opens it.
    """
    for entry in _entries(folder):
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_IFMT(mode) in _KINDS:
            raise UserError(
                f"{entry.path}: {not_regular(mode)}; a run directory holds files and"
                " folders only"
            )


def _entries(top: Path) -> Iterator[os.DirEntry[str]]:
    left = [str(top)]
    while left:
        try:
            with os.scandir(left.pop()) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        yield from entries
        left += [one.path for one in entries if one.is_dir(follow_symlinks=False)]


def copy(source: Path, target: Path, *without: str) -> None:
    """Copies a folder to a new one, without the names of these patterns.

    Raises UserError at a special file, OSError where it cannot be copied.
    """
    import shutil  # takes longer to load than an answer takes to write

    refuse_special(source)
    ignored = shutil.ignore_patterns(*without)
    shutil.copytree(source, target, symlinks=True, ignore=ignored)


class Drafts:
    """New files in an opened folder, of which one may take a name; the others go.

    `link` says whether the folder itself may be a link. Raises OSError.
    """

    def __init__(self, folder: Path, link: bool) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | (0 if link else os.O_NOFOLLOW)
        self._folder = os.open(folder, flags)
        self._stem = f".writestall-{os.urandom(8).hex()}"
        self._numbers = count()

    def __enter__(self) -> Drafts:
        return self

    def __exit__(self, *_: object) -> None:
        with os.scandir(self._folder) as entries:
            left = [one.name for one in entries if one.name.startswith(self._stem)]
        for name in left:
            os.unlink(name, dir_fd=self._folder)
        os.close(self._folder)

    def new(self) -> tuple[str, BinaryIO]:
        """A new file and its name; a copy of this process may call it, too."""
        name = f"{self._stem}.{os.getpid()}.{next(self._numbers)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        return name, os.fdopen(self._open(name, flags), "wb")

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW, 0o666, dir_fd=self._folder)

    def become(self, name: str, first: str, *others: str) -> None:
        """The first draft, with the others behind it, takes a name in the folder."""
        with os.fdopen(self._open(first, os.O_WRONLY | os.O_APPEND), "ab") as file:
            for other in others:
                with os.fdopen(self._open(other, os.O_RDONLY), "rb") as part:
                    file.writelines(iter(partial(part.read, 1 << 20), b""))
            file.flush()
            os.fsync(file.fileno())
        held = self._folder
        os.replace(first, name, src_dir_fd=held, dst_dir_fd=held)
