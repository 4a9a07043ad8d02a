# SPDX-License-Identifier: GPL-2.0-only
"""schema: parse a TOML table into a frozen record, or name the mistake in one line.

The fields of a record are the keys of a table: `key()` gives each its unit, range and
choices, which the loader, its messages and the test of docs/scenario-format.md use.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from dataclasses import dataclass
from typing import Any, TypeVar

from writestall_base.errors import UserError

REQUIRED = dataclasses.MISSING
MAX_TEXT_CHARACTERS = 400

Record = TypeVar("Record")


@dataclass(frozen=True)
class Key:
    """The limits of a value, in addition to its type.

    minimum and maximum bound a number, the length of a list, or every number of
    it; `choices` and `pattern` restrict a text or every text of a list.
    """

    help: str
    unit: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    pattern_help: str = ""
    characters: int = MAX_TEXT_CHARACTERS


def key(help: str, default: Any = REQUIRED, **limits: Any) -> Any:
    """Return a dataclass field that a scenario file may set."""
    metadata = {"key": Key(help, **limits)}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def number_key(
    help: str, span: tuple[int, int], default: Any = REQUIRED, unit: str | None = None
) -> Any:
    """Return the field of a whole number, from the first to the last of a span."""
    return key(help, default, unit=unit, minimum=span[0], maximum=span[1])


def key_of(field: dataclasses.Field[Any]) -> Key:
    found: Key = field.metadata["key"]
    return found


TYPE_NAMES = {str: "text", int: "a whole number", bool: "true or false"}


class _MistakeError(Exception):
    """What is wrong at a place, such as `inject[0].mode`, empty at the top."""

    def __init__(self, place: str, what: str) -> None:
        # A key may contain control characters, which are escaped.
        printable = place if place.isprintable() else ascii(place)[1:-1]
        super().__init__(f"{printable[:200]}: {what}" if place else what)


def build(record: type[Record], table: Any, source: str) -> Record:
    """Build the record of a TOML table of that file.

    Raises UserError with one line: source, place, mistake, remedy.
    """
    try:
        return _build(record, table, "")
    except _MistakeError as mistake:
        raise UserError(f"{source}: {mistake}") from None


def _build(record: type[Record], table: Any, where: str) -> Record:
    if not isinstance(table, dict):
        raise _MistakeError(where, "want a table")
    fields = {field.name: field for field in dataclasses.fields(record)}  # type: ignore[arg-type]
    for name in table:
        if name not in fields:
            hint = did_you_mean(name, list(fields))
            raise _MistakeError(_join(where, name), f"unknown key{hint}")
    hints = typing.get_type_hints(record)
    values: dict[str, Any] = {}
    for name, field in fields.items():
        place = _join(where, name)
        if name in table:
            values[name] = _value(hints[name], key_of(field), table[name], place)
        elif field.default is REQUIRED and field.default_factory is REQUIRED:
            raise _MistakeError(place, f"missing: {key_of(field).help}")
    return record(**values)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def did_you_mean(name: str, known: list[str]) -> str:
    """Return `, did you mean X?` if one is close, else the known ones."""
    import difflib  # importing it takes a slow machine 0.1 s

    close = difflib.get_close_matches(name[:80], known, n=1, cutoff=0.5)
    if close:
        return f", did you mean {close[0]}?"
    return f"; known: {', '.join(sorted(known))}"


def _value(hint: Any, key: Key, value: Any, place: str) -> Any:
    """Check and return the value of a key, tables and lists recursively."""
    if type(None) in typing.get_args(hint):  # optional: TOML has no null
        hint = typing.get_args(hint)[0]
    if record := _record_for(hint, value, place):
        return _build(record, value, place)
    if typing.get_origin(hint) is tuple:
        return _list(typing.get_args(hint)[0], key, value, place)
    if typing.get_origin(hint) is dict:
        return _free_table(key, value, place)
    return _scalar(hint, key, value, place)


def records(hint: Any) -> list[type[Any]]:
    """List the records of a type hint: one, those of a union, or none."""
    union = isinstance(hint, types.UnionType)
    return [
        one
        for one in (typing.get_args(hint) if union else (hint,))
        if isinstance(one, type) and dataclasses.is_dataclass(one)
    ]


def _record_for(hint: Any, value: Any, place: str) -> type[Any] | None:
    """Return the record of a union by the table's `kind`, the first without one."""
    known = records(hint)
    if len(known) < 2 or not isinstance(value, dict) or "kind" not in value:
        return known[0] if known else None
    by_kind = {str(record.kind): record for record in known}
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in by_kind:
        hint = did_you_mean(kind, list(by_kind)) if isinstance(kind, str) else ""
        where = _join(place, "kind")
        raise _MistakeError(where, f"{_show(kind)} is not known{hint}")
    return by_kind[kind]


def _list(item: Any, key: Key, value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _MistakeError(place, f"want a list, got {_show(value)}")
    low, high = key.minimum or 0, key.maximum or 64
    if not low <= len(value) <= high:
        raise _MistakeError(place, f"want {low} to {high} entries, got {len(value)}")
    of_items = dataclasses.replace(key, minimum=None, maximum=None)
    return tuple(
        _value(item, of_items, entry, f"{place}[{index}]")
        for index, entry in enumerate(value)
    )


def _free_table(key: Key, value: Any, place: str) -> dict[str, str | int]:
    """Check a table whose keys match a pattern, with texts or numbers as values."""
    if not isinstance(value, dict):
        raise _MistakeError(place, f"want a table, got {_show(value)}")
    assert key.pattern is not None
    for name, entry in value.items():
        inner = _join(place, name)
        if not re.fullmatch(key.pattern, name):
            raise _MistakeError(inner, f"want {key.pattern_help}")
        if isinstance(entry, bool) or not isinstance(entry, (str, int)):
            raise _MistakeError(inner, f"want text or a number, got {_show(entry)}")
        if isinstance(entry, str):
            _check_text(Key(key.help), entry, inner)
    return dict(value)


def _scalar(hint: Any, key: Key, value: Any, place: str) -> Any:
    if type(value) is not hint:
        unit = f" of {key.unit}" if key.unit else ""
        want = f"{TYPE_NAMES[hint]}{unit}"
        raise _MistakeError(place, f"want {want}, got {_show(value)}")
    if hint is int:
        _check_number(key, value, place)
    if hint is str:
        _check_text(key, value, place)
    return value


def _check_number(key: Key, value: int, place: str) -> None:
    if key.minimum is None or key.maximum is None:
        raise AssertionError(f"{place} has no range")
    if not key.minimum <= value <= key.maximum:
        unit = f" {key.unit}" if key.unit else ""
        span = f"{key.minimum} to {key.maximum}{unit}"
        raise _MistakeError(place, f"want {span}, got {_show(value)}")


def _check_text(key: Key, value: str, place: str) -> None:
    if not value.isprintable() or len(value) > key.characters:
        limit = f"printable text of at most {key.characters} characters"
        raise _MistakeError(place, f"want {limit}")
    if key.choices and value not in key.choices:
        hint = did_you_mean(value, list(key.choices))
        raise _MistakeError(place, f"{_show(value)} is not known{hint}")
    if key.pattern and not re.fullmatch(key.pattern, value):
        raise _MistakeError(place, f"want {key.pattern_help}, got {_show(value)}")


def _show(value: Any) -> str:
    """Format a value in a short, printable form."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    text = ascii(value) if isinstance(value, str) else _number_text(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _number_text(value: Any) -> str:
    # str() of an integer beyond 4300 digits raises (CVE-2020-10735).
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of too many digits"
    return (
        {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    )
