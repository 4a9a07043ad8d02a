# SPDX-License-Identifier: GPL-2.0-only
"""roster: the folder of a class, and the seed of each of its students.

With the teacher's key nobody can look for a seed that is easy: the seed of a name is
made of both.
"""

from __future__ import annotations

import csv
import hmac
import io
from hashlib import sha256
from pathlib import Path

from writestall.course.limits import MOST_RECORD_BYTES, MOST_WORD
from writestall_base import files
from writestall_base.errors import UserError

FILE = "roster.csv"
COLUMNS = ("name", "seed")
KEYED_LETTERS = 6


def make(names: Path, folder: Path, key: str) -> int:
    """Make the folder of a class with a folder for each name; how many there are."""
    found = _names(names)
    seeds = [(name, _seed(name, key)) for name in found]

    def fill(draft: Path) -> None:
        for name in found:
            (draft / name).mkdir()
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *seeds])
        (draft / FILE).write_text(text.getvalue(), encoding="utf-8")

    files.save_folder(folder, fill)
    return len(found)


def _seed(name: str, key: str) -> str:
    if not key:
        return name
    made = hmac.new(key.encode(), name.encode(), sha256).hexdigest()
    return f"{name[: MOST_WORD - KEYED_LETTERS - 1]}-{made[:KEYED_LETTERS]}"


def _names(path: Path) -> list[str]:
    """One name a line."""
    found = [line.strip() for line in _text(path).splitlines() if line.strip()]
    if not found:
        raise UserError(f"{path}: no names; want one a line")
    for name in found:
        if len(name) > MOST_WORD:
            raise UserError(f"{path}: {name[:20]}...: want at most {MOST_WORD} letters")
        if "/" in name or name.startswith(".") or not name.isprintable():
            raise UserError(f"{path}: {name!a}: no name of a folder")
        if found.count(name) > 1:
            raise UserError(f"{path}: {name}: twice")
    return found


def _text(path: Path) -> str:
    try:
        return files.content(path, MOST_RECORD_BYTES).decode()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8") from None


def read(folder: Path) -> dict[str, str]:
    """The seeds of a class by name; none where it has no roster."""
    if not (folder / FILE).exists():
        return {}
    rows = csv.DictReader(io.StringIO(_text(folder / FILE)))
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise UserError(f"{folder / FILE}: want the columns {', '.join(COLUMNS)}")
    return {row["name"]: row["seed"] for row in rows}
