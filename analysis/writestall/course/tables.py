# SPDX-License-Identifier: GPL-2.0-only
"""tables: the labs and the names that answers may use, from the TOML files here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from writestall_base.errors import UserError


@dataclass(frozen=True, slots=True)
class Cause:
    """What a mystery in a machine begins with; `groups` and `wbps` where a cgroup's
    limit is the cause, `who` and `share` where an injector is.
    """

    scenario: str
    who: str = ""
    share: tuple[int, ...] = (100,)
    groups: tuple[str, ...] = ()
    wbps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Taught:
    """Classes of waits, roots, and what --ms may ask for."""

    waits: tuple[str, ...]
    roots: tuple[str, ...]
    ms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lab:
    """One lab; labs.toml says what the fields are."""

    number: int
    page: str
    title: str
    minutes: int
    scenario: str
    shown: str
    wait: str
    changed: dict[str, str]
    ms: str
    teaches: Taught
    recorded: tuple[str, ...]
    cause: tuple[Cause, ...]
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Other words for what explain names, in lower case."""

    nobody: frozenset[str]
    disk: frozenset[str]
    also: dict[str, frozenset[str]]


@cache
def load(name: str) -> dict[str, Any]:
    """One of the files beside this module."""
    text = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose lists are tuples."""
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return row | lists


@cache
def labs() -> tuple[Lab, ...]:
    """The labs in their order."""
    return tuple(
        Lab(
            **_tuples(row)
            | {"teaches": Taught(**_tuples(row["teaches"]))}
            | {"cause": tuple(Cause(**_tuples(cause)) for cause in row["cause"])}
        )
        for row in load("labs.toml")["lab"]
    )


def lab(number: int) -> Lab:
    """The lab of that number; raise where there is none."""
    for one in labs():
        if one.number == number:
            return one
    raise UserError(f"lab {number}: there are labs 1 to {len(labs())}")


@cache
def taught(number: int) -> Taught:
    """What a lab and those before it teach."""
    until = [one.teaches for one in labs() if one.number <= number]
    return Taught(
        tuple(wait for one in until for wait in one.waits),
        tuple(root for one in until for root in one.roots),
        tuple(ms for one in until for ms in one.ms),
    )


@cache
def names() -> Names:
    """The words of names.toml."""
    table = load("names.toml")
    also = {name: frozenset(words) for name, words in table["also"].items()}
    return Names(frozenset(table["nobody"]), frozenset(table["disk"]), also)
