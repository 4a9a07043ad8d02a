# SPDX-License-Identifier: GPL-2.0-only
"""handed_in: find the answers in the folders of a class, and bound what is read.

Whoever hands a folder in decides what is in it. Links are not followed, and what is too
deep, too many or too large is said in place of an answer.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from writestall.common.compressed import MIB
from writestall.course.work import ANSWER
from writestall_base.errors import UserError
from writestall_base.folders import not_regular

MOST_DEEP, MOST_ENTRIES, MOST_ANSWERS = 8, 4096, 64
MOST_BYTES = 1024 * MIB


@dataclass(frozen=True, slots=True)
class HandedIn:
    """One answer by its place below the folder of the class; `why` there is none."""

    who: str
    file: Path | None
    why: str = ""


def answers(folder: Path) -> Iterator[HandedIn]:
    """What each student handed in, by name: at least one row for each folder.

    A folder that has an answer itself is that of one student. Raises UserError where
    nobody handed in anything.
    """
    alone = os.path.lexists(folder / ANSWER)
    found = list(_of_one(folder, folder)) if alone else list(_of_class(folder))
    if not found:
        raise UserError(f"{folder}: no {ANSWER} below it")
    yield from found


def _of_class(folder: Path) -> Iterator[HandedIn]:
    for path in sorted(folder.iterdir()):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            yield from _of_one(folder, path)
        elif not stat.S_ISREG(mode):
            yield HandedIn(path.name, None, not_regular(mode))
        elif path.name.endswith(ANSWER):
            yield HandedIn(path.name, path)


def _of_one(folder: Path, student: Path) -> Iterator[HandedIn]:
    """The answers of a student."""
    name = student.name if student == folder else str(student.relative_to(folder))
    try:
        files = sorted(_answers_in(student))
    except OSError as error:
        yield HandedIn(name, None, error.strerror or "cannot be read")
        return
    except UserError as error:
        yield HandedIn(name, None, str(error))
        return
    if not files:
        yield HandedIn(name, None, f"no {ANSWER} in it")
    for file in files:
        place = file.parent if file.name == ANSWER else file
        who = name if place == folder else str(place.relative_to(folder))
        yield HandedIn(who, file)


def _answers_in(student: Path) -> list[Path]:
    """The files of answers, whatever they are; raises UserError beyond a bound."""
    found: list[Path] = []
    size = 0
    for number, (path, mode, bytes_) in enumerate(_entries(student, MOST_DEEP), 1):
        size += bytes_
        if path.name.endswith(ANSWER) and not stat.S_ISDIR(mode):
            found.append(path)
        if number > MOST_ENTRIES:
            raise UserError(f"more than {MOST_ENTRIES} files and folders")
        if len(found) > MOST_ANSWERS:
            raise UserError(f"more than {MOST_ANSWERS} answers")
        if size > MOST_BYTES:
            raise UserError(f"larger than {MOST_BYTES // MIB} MiB")
    return found


def _entries(top: Path, deep: int) -> Iterator[tuple[Path, int, int]]:
    """What is below a folder: its path, st_mode, and bytes of a regular file."""
    with os.scandir(top) as entries:
        below = []
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            regular = stat.S_ISREG(status.st_mode)
            path = Path(entry.path)
            yield path, status.st_mode, status.st_size if regular else 0
            if stat.S_ISDIR(status.st_mode):
                below.append(path)
    for path in below if deep else ():
        yield from _entries(path, deep - 1)
