# SPDX-License-Identifier: GPL-2.0-only
"""gradebook: judge the answers of a class, and print them as a table.

Nothing that a student's folder says of its own answer counts: each is judged from its
run. A recorded run is taken from the tree, and read once; a machine's must be the one
of its seed, and is read in a process of its own. Whatever fails is that answer's row.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Table

from writestall.common.spreadsheets import no_formula
from writestall.course import bounded, draw, edges, handed_in, roster, work
from writestall.course.facts import Facts
from writestall.course.handed_in import HandedIn
from writestall.course.judge import PARTS, judge
from writestall.course.work import Handed
from writestall.pictures.terminal import plain_table
from writestall_base.errors import UserError
from writestall_base.units import printable, utf8

RIGHT, WRONG, UNJUDGED, NONE = "right", "wrong", "?", "-"
# Of who made the chain by hand.
CHAIN = "chain"


@dataclass(slots=True)
class Row:
    """One answer; `marks` has RIGHT or WRONG for each part of it, `why` is what kept it
    from being judged, or a remark.
    """

    who: str
    handed: Handed | None = None
    marks: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(PARTS, UNJUDGED)
    )
    why: str = ""

    @property
    def student(self) -> str:
        """Whose it is: the folder below that of the class."""
        return self.who.split("/")[0]

    @property
    def points(self) -> int:
        """How many parts are right."""
        return Counter(self.marks.values())[RIGHT]


def rows(folder: Path) -> list[Row]:
    """All answers below a folder, by name."""
    seeds = roster.read(folder)
    found = [_row(one, seeds) for one in handed_in.answers(folder)]
    there = {one.student for one in found}
    nothing = "nothing was handed in"
    found += [Row(name, why=nothing) for name in seeds if name not in there]
    _remark_copies(found)
    for one in found:
        if seeds and one.student not in seeds and not one.why:
            one.why = "not on the roster"
    return found


def _row(one: HandedIn, seeds: dict[str, str]) -> Row:
    row = Row(one.who, why=one.why)
    if one.file:
        try:
            handed = row.handed = work.read(one.file, Handed)
            own = seeds.get(row.student, handed.seed)
            if handed.seed != own:
                raise UserError(f"its seed is not that of the roster: {own}")
            row.marks = _marks(one.file.parent, handed)
        except UserError as error:
            row.why = str(error)
    return row


def _marks(place: Path, handed: Handed) -> dict[str, str]:
    if not handed.seed:
        raise UserError("the lab's own question: its answer is on the page")
    if not handed.seed.isprintable():
        raise UserError("its seed is no printable text")
    if handed.recorded:
        return marks(_asked_about(place, handed), handed)
    return bounded.call(lambda: marks(_asked_about(place, handed), handed))


def question(number: int, seed: str) -> tuple[str, int, str]:
    """What a seed asks for with --recorded: the run, the call, and the milliseconds."""
    name = draw.recorded(number, seed)
    call = work.drawn_call(Path(), work.recorded_calls(number, seed), number, seed)
    return name, call, draw.quantity(number, seed)


def _asked_about(place: Path, handed: Handed) -> Facts:
    """What is right about the call that was asked about; a machine's run is the
    student's own."""
    if not handed.recorded and not work.is_drawn(place, handed.lab, handed.seed):
        raise UserError(f"{place}: its run is not what its seed draws")
    clear = work.clear_calls(place, handed)
    return clear[work.drawn_call(place, clear, handed.lab, handed.seed)]


def marks(facts: Facts, handed: Handed) -> dict[str, str]:
    """Which parts of an answer are right; of its chain, if it has one, too."""
    judged = judge(facts, draw.quantity(handed.lab, handed.seed), handed.given)
    wrong = {part: bool(judged.wrong[part]) for part in PARTS}
    if handed.chain:
        wrong[CHAIN] = any(edges.judge(facts, handed.chain))
    return {part: WRONG if is_wrong else RIGHT for part, is_wrong in wrong.items()}


def keeps(facts: Facts, kept: Handed | None, given: Handed) -> bool:
    """Whether an answer passed, and the new one is not better."""
    if kept is None:
        return False
    before, now = marks(facts, kept), marks(facts, given)
    right = Counter(before.values())[RIGHT]
    return right == len(before) and Counter(now.values())[RIGHT] <= right


def _remark_copies(found: list[Row]) -> None:
    """Note where two answers have the same seed, or the same question."""
    judged = [one for one in found if one.handed and not one.why]
    for why, key in COPIES:
        keys = [key(one.handed) for one in judged if one.handed]
        often = Counter(keys)
        for one, value in zip(judged, keys, strict=True):
            if often[value] > 1 and not one.why:
                one.why = why


def _asked(handed: Handed) -> object:
    """The question of an answer; a machine's is that of its own run."""
    if handed.recorded:
        return question(handed.lab, handed.seed)
    return handed.lab, handed.seed


COPIES: tuple[tuple[str, Callable[[Handed], object]], ...] = (
    ("its seed was handed in more than once", lambda one: (one.lab, one.seed)),
    ("another seed drew the same question", lambda one: (one.lab, _asked(one))),
)


HEADINGS = ("answer", "lab", "seed", *PARTS, CHAIN, "points", "tries")


def table(found: list[Row]) -> Table:
    """The table of a class, for a terminal."""
    made = plain_table(*((heading, "left") for heading in HEADINGS))
    for one in found:
        made.add_row(*_cells(one))
    return made


def _cells(one: Row) -> tuple[str, ...]:
    """A row of HEADINGS."""
    handed = one.handed
    return (
        printable(one.who),
        str(handed.lab) if handed else UNJUDGED,
        printable(handed.seed) if handed else UNJUDGED,
        *(one.marks.get(part, NONE) for part in (*PARTS, CHAIN)),
        f"{one.points}/{len(one.marks)}",
        str(handed.tries) if handed else UNJUDGED,
    )


@dataclass(frozen=True, slots=True)
class Sum:
    """Of one student: answers, points, and how many points there were."""

    answers: int
    points: int
    most: int


def sums(found: list[Row]) -> dict[str, Sum]:
    """The sum of each student."""
    made = {}
    for student, own in groupby(found, lambda one: one.student):
        rows = list(own)
        made[student] = Sum(
            sum(one.handed is not None for one in rows),
            sum(one.points for one in rows),
            sum(len(one.marks) for one in rows),
        )
    return made


def sums_table(found: list[Row]) -> Table:
    """The same for a terminal."""
    made = plain_table(("student", "left"), ("answers", "left"), ("points", "left"))
    for student, one in sums(found).items():
        made.add_row(printable(student), str(one.answers), f"{one.points}/{one.most}")
    return made


def as_csv(found: list[Row]) -> str:
    """The table for a spreadsheet, which takes no cell for a formula; the sums of a
    student stand in each of his rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    own = ("student", "student_points", "student_of")
    writer.writerow((*HEADINGS, "of", "why", "prediction", *own))
    all_of = sums(found)
    for one in found:
        student = all_of[one.student]
        cells = (*_cells(one)[:-2], str(one.points), _cells(one)[-1])
        predicted = printable(one.handed.prediction) if one.handed else NONE
        more = (str(len(one.marks)), printable(one.why), predicted)
        his = (printable(one.student), str(student.points), str(student.most))
        writer.writerow([no_formula(cell) for cell in (*cells, *more, *his)])
    return text.getvalue()


def remarks(found: list[Row]) -> Iterator[str]:
    """A line for each answer that something is to be said about."""
    yield from (f"{one.who}: {one.why}" for one in found if one.why)


OF_HANDED = ("lab", "seed", "tries", "prediction")


def as_json(found: list[Row]) -> list[dict[str, Any]]:
    """The table for other programs."""
    return [
        {
            "answer": utf8(one.who),
            **{name: getattr(one.handed, name, None) for name in OF_HANDED},
            "marks": one.marks,
            "points": one.points,
            "why": utf8(one.why),
        }
        for one in found
    ]
