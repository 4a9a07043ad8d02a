# SPDX-License-Identifier: GPL-2.0-only
"""test_scenario_format: compare docs/scenario-format.md with the loader's table."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import pytest

from labrun.scenario import keys, kinds, reading, rule, schema
from support import PROJECT

DOCUMENT = (PROJECT / "docs/scenario-format.md").read_text()
# Heading of each table, and the record whose keys it lists.
SECTIONS = {
    "Top level": keys.Scenario,
    "`[kernel]`": keys.KernelRange,
    "`[filesystem]`": keys.FileSystem,
    "`[machine]`": keys.Machine,
    "`[memory]`": keys.Memory,
    "`[[cgroup]]`": keys.Cgroup,
    "`[[inject]]`": rule.Inject,
    "`[[workload]]`": keys.Workload,
    "`[[workload]]`, kind safepoint": kinds.Safepoint,
    "`[[workload]]`, kind broker": kinds.Broker,
    "`[[workload]]`, kind fio": kinds.Fio,
    "`[[workload]]`, kind command": kinds.Command,
    "`[trace]`": keys.Trace,
    "`[expect]`": keys.Expect,
    "`[[variant]]`": keys.Variant,
}
HEADING = "| key | value | range | default | meaning |"


def value(hint: Any, key: schema.Key) -> str:
    """The second column for a key: its type, and its unit."""
    if type(None) in typing.get_args(hint):
        hint = typing.get_args(hint)[0]
    if dataclasses.is_dataclass(hint):
        return "table"
    if typing.get_origin(hint) is dict:
        return "table of texts and numbers"
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return "tables" if schema.records(item) else "list of texts"
    word = {str: "text", int: "number", bool: "true or false"}[hint]
    return f"{word}, {key.unit}" if key.unit else word


def limits(key: schema.Key) -> str:
    """The third column for a key."""
    if key.choices:
        return ", ".join(f"`{choice}`" for choice in key.choices)
    if key.pattern_help:
        return key.pattern_help
    if key.maximum is not None:
        return f"{key.minimum or 0} to {key.maximum}"
    return "any"


def default(field: dataclasses.Field[Any]) -> str:
    """The fourth column for a key."""
    if field.default_factory is not dataclasses.MISSING:
        return "empty" if field.default_factory is dict else "its defaults"
    if field.default is dataclasses.MISSING:
        return "**required**"
    if field.default in (None, ()):
        return {None: "none", (): "empty"}[field.default]
    if field.default == schema.key_of(field).choices:
        return "all"
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    return f"`{field.default}`"


def rows(record: type[Any]) -> list[str]:
    """The expected table rows of a record, in its order."""
    hints = typing.get_type_hints(record)
    return [
        f"| `{field.name}` | {value(hints[field.name], schema.key_of(field))}"
        f" | {limits(schema.key_of(field))} | {default(field)}"
        f" | {schema.key_of(field).help} |"
        for field in dataclasses.fields(record)
    ]


@pytest.mark.parametrize(("heading", "record"), SECTIONS.items())
def test_every_key_is_documented_as_the_loader_reads_it(
    heading: str, record: type[Any]
) -> None:
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    assert table == [HEADING, "| --- | --- | --- | --- | --- |", *rows(record)]


def test_the_document_has_no_section_the_loader_does_not_know() -> None:
    with_tables = [part for part in DOCUMENT.split("\n## ")[1:] if HEADING in part]
    assert [part.partition("\n")[0] for part in with_tables] == list(SECTIONS)


def test_the_example_of_the_document_is_a_good_scenario() -> None:
    example = DOCUMENT.split("```toml\n")[1].split("```")[0]
    assert reading.parse(example, "example", "example").name == "example"
