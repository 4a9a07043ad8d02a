# SPDX-License-Identifier: GPL-2.0-only
"""matrix: read disks (profiles/*.toml) and file systems (matrix.toml)."""

# ruff: noqa: RUF009 -- key() makes a dataclass field, as dataclasses.field() does.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labrun.scenario import reading, rule, schema
from labrun.scenario.keys import FileSystem
from labrun.scenario.kinds import named_key
from labrun.scenario.rule import Inject
from labrun.scenario.schema import key, number_key
from writestall_base import TREE
from writestall_base.errors import UserError

PROFILES = TREE / "repro/profiles"
MATRIX = TREE / "repro/matrix.toml"
DEFAULT_PROFILE = "dying-hdd"


@dataclass(frozen=True)
class Profile:
    """A disk: its delays, for all submitters, and how they were found."""

    name: str = named_key("the file's name without .toml")
    purpose: str = key("one sentence: what the disk does")
    provenance: str = key("recorded where and how, or what the model rests on")
    inject: tuple[Inject, ...] = key("rules, first match wins", minimum=1, maximum=16)


@dataclass(frozen=True)
class Option:
    """A file system with its options: a row of a comparison."""

    name: str = named_key("name of the option")
    what: str = key("one line: what is different")
    filesystem: FileSystem = key("what the disk carries")
    period_s: int = number_key(
        "how often it commits by itself; 0: never", (0, 86_400), 0, "s"
    )


@dataclass(frozen=True)
class Matrix:
    """All options, in the order of the report."""

    option: tuple[Option, ...] = key("file systems", minimum=1, maximum=64)


def profile(name_or_path: str) -> tuple[Profile, dict[str, Any]]:
    """Read a profile by name or by a path ending in .toml; return it and its table."""
    path = Path(name_or_path)
    if path.suffix != ".toml":
        known = [found.stem for found in sorted(PROFILES.glob("*.toml"))]
        if name_or_path not in known:
            hint = schema.did_you_mean(name_or_path, known)
            raise UserError(f"profile {name_or_path!a} is not known{hint}")
        path = PROFILES / f"{name_or_path}.toml"
    table = reading.table_of(reading.read(path), str(path))
    found = schema.build(Profile, table, str(path))
    if found.name != path.stem:
        raise UserError(f"{path}: name: want {path.stem!a}, the file's name")
    for number, inject in enumerate(found.inject):
        for at, why in rule.mistakes(inject):
            raise UserError(f"{path}: inject[{number}].{at}: {why}")
    return found, table


def options(path: Path = MATRIX) -> tuple[list[Option], list[dict[str, Any]]]:
    """Read all options; return them and their tables."""
    table = reading.table_of(reading.read(path), str(path))
    found = schema.build(Matrix, table, str(path))
    names = [option.name for option in found.option]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise UserError(f"{path}: option[{number}].name: {name} is used twice")
    return list(found.option), table["option"]


def choose(known: Sequence[Option], words: Sequence[str]) -> list[Option]:
    """Return the options with these names or file systems; all without a name."""
    names = [option.name for option in known]
    types = {option.filesystem.type for option in known}
    for word in words:
        if word not in {*names, *types}:
            hint = schema.did_you_mean(word, names)
            raise UserError(f"file system or option {word!a} is not known{hint}")
    return [
        option
        for option in known
        if not words or {option.name, option.filesystem.type} & set(words)
    ]
