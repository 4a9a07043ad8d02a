# SPDX-License-Identifier: GPL-2.0-only
"""tables: the labs and the names that answers may use, from the TOML files here."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import TypeVar

import msgspec
from msgspec import Struct

from writestall_base.errors import UserError

T = TypeVar("T", bound=Struct)


class Cause(Struct, frozen=True, forbid_unknown_fields=True):
    """What a mystery in a machine begins with; `groups` and `wbps` where a cgroup's
    limit is the cause, `who` and `share` where an injector is.
    """

    scenario: str
    who: str = ""
    share: tuple[int, ...] = (100,)
    groups: tuple[str, ...] = ()
    wbps: tuple[int, ...] = ()


class Taught(Struct, frozen=True, forbid_unknown_fields=True):
    """Classes of waits, roots, and what --ms may ask for."""

    waits: tuple[str, ...]
    roots: tuple[str, ...]
    ms: tuple[str, ...]


class Lab(Struct, frozen=True, forbid_unknown_fields=True):
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


class Course(Struct, frozen=True, forbid_unknown_fields=True):
    """All of labs.toml: the labs in their order, and what a seed draws besides."""

    factors: tuple[float, ...]
    asked: int
    lab: tuple[Lab, ...]


class Names(Struct, frozen=True, forbid_unknown_fields=True):
    """Other words for what explain names, in lower case."""

    nobody: frozenset[str]
    disk: frozenset[str]
    also: dict[str, frozenset[str]]


def _read(name: str, kind: type[T]) -> T:
    """One of the files beside this module."""
    text = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), kind)


@cache
def course() -> Course:
    """What labs.toml has."""
    return _read("labs.toml", Course)


@cache
def names() -> Names:
    """The words of names.toml."""
    return _read("names.toml", Names)


def labs() -> tuple[Lab, ...]:
    """The labs in their order."""
    return course().lab


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
