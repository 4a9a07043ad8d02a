# SPDX-License-Identifier: GPL-2.0-only
"""work: a student's folder of one lab: its run, the question, and the last answer."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from writestall.chain import answers
from writestall.course import checkout, draw, scenario, tables
from writestall.course.facts import Facts, Judge
from writestall.course.judge import Given, shows
from writestall.course.limits import (
    MOST_CHAIN,
    MOST_MS,
    MOST_PREDICTION,
    MOST_RECORD_BYTES,
    MOST_TRIES,
    MOST_WORD,
)
from writestall.events import run_directory, stored_run
from writestall.events.run_directory import json_bytes
from writestall.verdict import check
from writestall_base import files
from writestall_base.errors import UserError

QUESTION, ANSWER = "question.json", "answer.json"
# The run of a lab, or a link to it.
LATEST = "latest"
# The folder of the run with the change.
CHANGED = "changed"
S = TypeVar("S", bound=Struct)


Word = Annotated[str, Meta(max_length=MOST_WORD)]
Prediction = Annotated[str, Meta(max_length=MOST_PREDICTION)]


class Question(Struct, forbid_unknown_fields=True):
    """What was started; `write` is 0 until there is a run to ask about."""

    lab: int
    seed: Word
    recorded: bool
    write: int = 0


class Handed(Struct, forbid_unknown_fields=True):
    """An answer as `course answer` writes it, and `course grade` reads it."""

    lab: int
    seed: Word
    recorded: bool
    holder: Word
    root: Word
    ms: Annotated[float, Meta(ge=0, le=MOST_MS)]
    chain: Annotated[str, Meta(max_length=MOST_CHAIN)] = ""
    tries: Annotated[int, Meta(ge=1, le=MOST_TRIES)] = 1
    prediction: Prediction = ""

    @property
    def given(self) -> Given:
        """The answer itself."""
        return Given(self.holder, self.root, self.ms)


def again(number: int) -> str:
    """What to do about work that is no use."""
    return f"./writestall course reset {number}, and start it again"


def folder(out: Path, number: int) -> Path:
    """Where the work of a lab is."""
    return out / "course" / str(number)


def begin(place: Path, question: Question) -> None:
    """Make the folder; raise where one is."""
    _make(place, question.lab, "begun already")
    write(place / QUESTION, question)


def _make(place: Path, number: int, why: str) -> None:
    try:
        place.mkdir(parents=True)
    except FileExistsError:
        remedy = f"./writestall course reset {number} deletes it"
        raise UserError(f"{place}: {why}; {remedy}") from None
    except OSError as error:
        raise UserError(f"{place}: {error.strerror}") from None


def reset(place: Path, number: int) -> None:
    """Delete a folder that begin() made."""
    if not (place / QUESTION).is_file():
        raise UserError(f"{place}: no work on lab {number} there")
    with files.naming(place):
        shutil.rmtree(place)


def change(place: Path) -> Path:
    """The new folder of a lab's changed run, beside its own."""
    inside = place / CHANGED
    _make(inside, read(place / QUESTION, Question).lab, "run already")
    return inside


def unpack(name: str, to: Path) -> None:
    """A copy of a recorded run with all its records unpacked."""
    try:
        stored_run.unpack(checkout.recorded(name), to)
    except OSError as error:
        raise UserError(f"{to}: {error.strerror or error}") from None


def hide(run: Path) -> None:
    """Take what names its cause out of a copy of a recorded run."""
    manifest = run / "manifest.json"
    table = msgspec.json.decode(files.content(manifest))
    for name in (check.RECORD, table.pop("throttle_log", check.RECORD)):
        (run / name).unlink(missing_ok=True)
    for key in ("inject", "expect", "purpose"):
        table["scenario"].pop(key, None)
    table["scenario"]["name"] = scenario.NAME
    if isinstance(injector := table.get("injector"), dict):
        table["injector"] = {"name": injector.get("name")}
    for step in table.get("steps", []):
        step.pop("detail", None)
    files.save_inside(run, manifest.name, json_bytes(table))


def ask(place: Path) -> Question:
    """The question of a lab whose run is there; drawn when it is first asked for."""
    question = read(place / QUESTION, Question)
    if not question.write:
        clear = clear_calls(place, question)
        question.write = drawn_call(place, clear, question.lab, question.seed)
        write(place / QUESTION, question)
    return question


def drawn_call(place: Path, clear: dict[int, Facts], number: int, seed: str) -> int:
    """The call of a run that is asked about: of those whose chain has the number that
    is asked for, the seed's; or the slowest one with the wait that the lab is about.
    """
    lab = tables.lab(number)
    if not clear:
        why = "no call of this run has one clear cause"
        raise UserError(f"{place}: {why}; {again(number)}")
    if seed:
        drawn = draw.draw(lab, seed)
        shown = [call for call, facts in clear.items() if shows(facts, drawn.ms)]
        return draw.asked(drawn, shown or list(clear))
    fit = (call for call, facts in clear.items() if facts.wait.cls == lab.wait)
    return next(fit, next(iter(clear)))


def judge_of(place: Path) -> Judge:
    """Who knows what is right about the run in a folder."""
    run = run_directory.open_run(_run(place))
    status = run.get("status")
    if status != "complete":
        raise UserError(f"{run.path}: the run is {status}, not complete")
    return Judge(answers.answer(run, None))


def is_complete(place: Path) -> bool:
    """Whether there is a run, and it was not cut off."""
    with suppress(UserError):
        run = run_directory.open_run(_run(place))
        return bool(run.get("status") == "complete")
    return False


def _run(place: Path) -> Path:
    """The newest run in a folder: they have the names of their times."""
    found = list(run_directory.runs_in(place))
    if not found:
        raise UserError(
            f"{place}: no run there; start it again, or hand in the whole folder"
        )
    return found[-1]


def facts(place: Path, question: Question) -> Facts:
    """What is right about the call that was asked about."""
    found = clear_calls(place, question).get(question.write)
    if found is None:
        raise UserError(f"{place}: call {question.write} has no clear cause")
    return found


def clear_calls(place: Path, of: Question | Handed) -> dict[int, Facts]:
    """What is right about the calls of a lab's run that may be asked about."""
    if of.recorded:
        return recorded_calls(of.lab, of.seed)
    return judge_of(place).clear()


def recorded_calls(number: int, seed: str) -> dict[int, Facts]:
    """What is right about the calls of a recorded run that a lab, or the mystery of a
    seed, may ask about. A mystery asks about none whose answer is on a lab's page.
    """
    name = draw.recorded(number, seed)
    clear = clear_of(name)
    if not seed:
        return clear
    labs = (lab.number for lab in tables.labs() if lab.shown == name)
    printed = {drawn_call(Path(), clear, lab, "") for lab in labs}
    return {call: facts for call, facts in clear.items() if call not in printed}


@cache
def clear_of(name: str) -> dict[int, Facts]:
    """What is right about the calls of a recorded run that may be asked about."""
    with TemporaryDirectory(prefix="writestall-") as scratch:
        place = Path(scratch)
        unpack(name, place / LATEST)
        return judge_of(place).clear()


def is_drawn(place: Path, number: int, seed: str) -> bool:
    """Whether the run in a folder is what a seed draws for a machine."""
    lab = tables.lab(number)
    ran = run_directory.open_run(_run(place)).get("scenario")
    if not isinstance(ran, dict):
        return False
    if not seed:
        return bool(ran.get("name") == lab.scenario)
    drawn = scenario.table(draw.draw(lab, seed))
    return all(ran.get(key) == drawn.get(key) for key in ("name", "seed", "inject"))


def handed(place: Path) -> Handed | None:
    """The answer that is kept in a folder."""
    with suppress(UserError):
        return read(place / ANSWER, Handed)
    return None


def write(path: Path, value: Struct) -> None:
    """Write a record as JSON."""
    data = json_bytes(msgspec.to_builtins(value))
    files.save_inside(path.parent, path.name, data)


def read(path: Path, kind: type[S]) -> S:
    """Read a record; raise where it is none."""
    try:
        data = files.content(path, MOST_RECORD_BYTES)
        return msgspec.json.decode(data, type=kind)
    except FileNotFoundError:
        start = "./writestall course start begins it"
        raise UserError(f"{path.parent}: not begun; {start}") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}") from None
