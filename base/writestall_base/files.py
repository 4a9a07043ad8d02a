# SPDX-License-Identifier: GPL-2.0-only
"""files: open a file of a run; write a file or a folder completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from writestall_base.errors import UserError
from writestall_base.folders import Drafts, not_regular


def is_special(path: Path) -> bool:
    """Whether there is something that is no file of its own: a pipe, /dev/null."""
    return path.exists() and not path.is_file() and not path.is_dir()


def opened(path: Path, buffering: int = -1) -> BinaryIO:
    """A file's content. Raises OSError for a link, too, and for a pipe, whose end may
    never come; no device is opened."""
    _refuse(path, os.lstat(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    file: BinaryIO = os.fdopen(descriptor, "rb", buffering)
    try:
        _refuse(path, os.fstat(descriptor))
    except OSError:
        file.close()
        raise
    return file


def _refuse(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, not_regular(found.st_mode), str(path))


def content(path: Path, most_bytes: int | None = None) -> bytes:
    """All of a file, as opened() opens it; raises OSError where there is more."""
    with opened(path) as file:
        if most_bytes is None:
            return file.read()
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes >> 10} KiB", str(path))
    return data


def save(path: Path, data: bytes) -> None:
    """Writes a file whose name the user gave: its links are followed, and stay.

    What is no file of its own (a pipe, /dev/null) is written to as it stands.
    """
    with naming(path):
        if is_special(path):
            with path.open("wb") as file:
                file.write(data)
            return
        place = path.resolve()
        with Drafts(place.parent, link=True) as drafts:
            drafts.become(place.name, _draft(drafts, data))


def save_inside(folder: Path, name: str, data: bytes, *, link: bool = True) -> None:
    """Writes a file of a folder: a link of that name is replaced, not followed.

    `link` says whether the folder may be one.
    """
    save_joined(folder, name, lambda drafts: [_draft(drafts, data)], link=link)


def save_joined(
    folder: Path, name: str, fill: Callable[[Drafts], list[str]], *, link: bool = True
) -> None:
    """Writes a file as save_inside() does, out of the drafts that fill() makes."""
    with naming(folder / name), Drafts(folder, link) as drafts:
        drafts.become(name, *fill(drafts))


def _draft(drafts: Drafts, data: bytes) -> str:
    name, file = drafts.new()
    with file:
        file.write(data)
    return name


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an error of the system name the file that is read or written."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def save_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Has a new folder filled beside its place, then moves it there.

    Raises UserError where something is in the place already: a folder cannot
    be swapped for another in one step, and nobody's files are deleted.
    """
    import shutil  # takes longer to load than an answer takes to write

    if os.path.lexists(path):
        raise UserError(f"{path}: already there; name a new folder")
    with naming(path):
        place = path.resolve()
        draft = place.with_name(f".{place.name}.{os.getpid()}.new")
        draft.mkdir()
        try:
            fill(draft)
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
