# SPDX-License-Identifier: GPL-2.0-only
"""tries: count the answers to each question; deleting the work on a lab keeps them.

The file is the student's: the count is on trust.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from writestall.course import work
from writestall.course.limits import MOST_TRIES
from writestall.course.work import Question
from writestall_base.errors import UserError

FILE = "tries.json"


class Tries(Struct, forbid_unknown_fields=True):
    """How often each question was answered, by lab and seed."""

    of: dict[str, int]


def count(place: Path, question: Question) -> int:
    """Count one more answer to a question; how many it are."""
    file = place.with_name(FILE)
    found = Tries({})
    # What cannot be read is begun again.
    with suppress(UserError):
        found = work.read(file, Tries)
    key = f"{question.lab} {question.seed}".rstrip()
    number = min(max(found.of.get(key, 0), 0) + 1, MOST_TRIES)
    found.of[key] = number
    work.write(file, found)
    return number
