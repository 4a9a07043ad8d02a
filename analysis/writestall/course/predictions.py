# SPDX-License-Identifier: GPL-2.0-only
"""predictions: keep what a student predicts before a lab begins; the first one stands.

Deleting the work on a lab keeps it. The file is the student's: it is on trust.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from writestall.course import work
from writestall.course.work import Prediction
from writestall_base.errors import UserError

FILE = "predictions.json"


class Predictions(Struct, forbid_unknown_fields=True):
    """What was predicted, by the number of the lab."""

    of: dict[str, Prediction]


def _kept(place: Path) -> Predictions:
    file = place.with_name(FILE)
    return work.read(file, Predictions) if file.exists() else Predictions({})


def of(place: Path, number: int) -> str:
    """The prediction of a lab; empty where there is none."""
    return _kept(place).of.get(str(number), "")


def keep(place: Path, number: int, text: str) -> None:
    """Keep it; raise where one is kept, and where the lab has begun."""
    kept = _kept(place)
    if before := kept.of.get(str(number)):
        raise UserError(f"lab {number}: predicted already: {before}")
    if place.exists():
        raise UserError(f"{place}: begun already; a prediction comes before it")
    kept.of[str(number)] = text
    place.parent.mkdir(parents=True, exist_ok=True)
    work.write(place.with_name(FILE), kept)
