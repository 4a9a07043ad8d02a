# SPDX-License-Identifier: GPL-2.0-only
"""files: open a file of a run; write a file or a folder completely or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from writestall.common.errors import WritestallError


def is_special(path: Path) -> bool:
    """Whether there is something that is no file of its own: a pipe, /dev/null."""
    return path.exists() and not path.is_file() and not path.is_dir()


def opened(path: Path, buffering: int = -1) -> BinaryIO:
    """A file's content. Raises OSError for a pipe, too, whose end may never come."""
    if is_special(path):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.open("rb", buffering)


def content(path: Path) -> bytes:
    """All of a file, as opened() opens it."""
    with opened(path) as file:
        return file.read()


def save(path: Path, data: bytes) -> None:
    """Writes a file as save_pieces() does."""
    save_pieces(path, (data,))


def save_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Writes a file beside its place, then moves it there; a link stays a link.

    What is no file of its own (a pipe, /dev/null) is written to as it stands.
    """
    try:
        if is_special(path):
            _fill(path, pieces)
            return
        place = path.resolve()
        draft = _draft(place)
        try:
            _fill(draft, pieces)
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise WritestallError(f"{path}: {error.strerror}") from None


def _fill(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(pieces)


def save_joined(path: Path, fill: Callable[[Path], list[Path]]) -> None:
    """Writes a file as save_pieces() does, out of several that fill() makes.

    Their names begin with that of the path it is given.
    """
    import shutil

    try:
        place = path.resolve()
        special = is_special(place)
        draft = _draft(Path(tempfile.gettempdir(), place.name) if special else place)
        try:
            first, *others = fill(draft)
            with (path if special else first).open("wb" if special else "ab") as file:
                for more in [first, *others] if special else others:
                    with more.open("rb") as part:
                        shutil.copyfileobj(part, file, 1 << 20)
            if not special:
                first.replace(place)
        finally:
            for left in draft.parent.glob(f"{draft.name}*"):
                left.unlink()
    except OSError as error:
        raise WritestallError(f"{path}: {error.strerror}") from None


def save_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Has a new folder filled beside its place, then moves it there.

    Raises WritestallError where something is in the place already: a folder cannot
    be swapped for another in one step, and nobody's files are deleted.
    """
    import shutil  # takes longer to load than an answer takes to write

    if os.path.lexists(path):
        raise WritestallError(f"{path}: already there; name a new folder")
    try:
        place = path.resolve()
        draft = _draft(place)
        draft.mkdir()
        try:
            fill(draft)
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise WritestallError(f"{path}: {error.strerror or error}") from None


def _draft(place: Path) -> Path:
    """A hidden name in the same folder, so that moving it is one step."""
    return place.with_name(f".{place.name}.{os.getpid()}.new")
