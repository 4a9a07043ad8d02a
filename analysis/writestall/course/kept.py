# SPDX-License-Identifier: GPL-2.0-only
"""kept: what deleting the work on a lab leaves: the count of answers, the predictions.

The files are the student's: both are on trust.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from writestall.course import work
from writestall.course.limits import MOST_TRIES
from writestall.course.work import Prediction, Question
from writestall_base.errors import UserError

TRIES, PREDICTIONS = "tries.json", "predictions.json"


class Tries(Struct, forbid_unknown_fields=True):
    """How often each question was answered, by lab and seed."""

    of: dict[str, int]


class Predictions(Struct, forbid_unknown_fields=True):
    """What was predicted, by the number of the lab; the first one stands."""

    of: dict[str, Prediction]


def count(place: Path, question: Question) -> int:
    """Count one more answer to a question; how many it are."""
    file = place.with_name(TRIES)
    found = Tries({})
    # What cannot be read is begun again.
    with suppress(UserError):
        found = work.read(file, Tries)
    key = f"{question.lab} {question.seed}".rstrip()
    number = min(max(found.of.get(key, 0), 0) + 1, MOST_TRIES)
    found.of[key] = number
    work.write(file, found)
    return number


def _predictions(place: Path) -> Predictions:
    file = place.with_name(PREDICTIONS)
    return work.read(file, Predictions) if file.exists() else Predictions({})


def prediction(place: Path, number: int) -> str:
    """The prediction of a lab; empty where there is none."""
    return _predictions(place).of.get(str(number), "")


def predict(place: Path, number: int, text: str) -> None:
    """Keep it; raise where one is kept, and where the lab has begun."""
    kept = _predictions(place)
    if before := kept.of.get(str(number)):
        raise UserError(f"lab {number}: predicted already: {before}")
    if place.exists():
        raise UserError(f"{place}: begun already; a prediction comes before it")
    kept.of[str(number)] = text
    place.parent.mkdir(parents=True, exist_ok=True)
    work.write(place.with_name(PREDICTIONS), kept)
