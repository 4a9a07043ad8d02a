#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""render-events: render docs/events.schema.json as tables and as Python records.

usage: docs/render-events.py [--check]

Writes the tables of docs/events.md and the fields of the records in
analysis/writestall/events/contract.py. --check writes nothing: its status is 1 if
one of them differs. The defaults of a record's fields are kept, and a new field gets a
default: streams of older tracers lack it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import rendering

SCHEMA = Path("docs/events.schema.json")
PAGE = Path("docs/events.md")
RECORDS = Path("analysis/writestall/events/contract.py")
Form = dict[str, Any]

TABLE = re.compile(r"^(\| `ev` .*\n\| --- .*\n)((?:\| .*\n)+)", re.MULTILINE)
RECORD = re.compile(r'(tag="(\w+)".*\n    """.*"""\n\n)((?:    \w+: .*\n)+)')
FIELD = re.compile(r"    (\w+): (.*?)(?: = (.*))?\n")


class Contract:
    """The definitions of the schema."""

    def __init__(self, schema: str) -> None:
        self._definitions: dict[str, Form] = json.loads(schema)["$defs"]

    def fields(self, event: str) -> dict[str, Form]:
        """Return the fields of an event behind `ev`, references followed."""
        return {
            name: self._followed(form)
            for name, form in self._definitions[event]["properties"].items()
            if name != "ev"
        }

    def _followed(self, form: Form) -> Form:
        if "$ref" not in form:
            return form
        name = form["$ref"].rpartition("/")[2]
        if name not in self._definitions:
            sys.exit(f"{SCHEMA}: {form['$ref']}: no such definition; add it to $defs")
        return self._definitions[name] | form

    def _described(self, name: str, form: Form) -> str:
        """Render a field as its name, its words, what it means and what it has."""
        form = self._followed(form)
        listed = [] if "$comment" in form else form.get("enum", [])
        words = ", ".join(f"`{word}`" for word in listed if word)
        inner = form.get("items", {}).get("properties", {})
        parts = ", ".join(self._described(*item) for item in inner.items())
        said = "; ".join(filter(None, (words, form.get("description"))))
        said = ": ".join(filter(None, (said, parts)))
        return f"`{name}` ({said})" if said else f"`{name}`"

    def table(self, found: re.Match[str]) -> str:
        """Render the rows of a table anew; its heading names the fields left out."""
        left_out = re.findall(r"`(\w+)`", found[1])
        rows = ""
        for event in re.findall(r"^\| `(\w+)`", found[2], re.MULTILINE):
            form = self._definitions[event]
            cells = ", ".join(
                self._described(*item)
                for item in form["properties"].items()
                if item[0] not in left_out
            )
            rows += f"| `{event}` | {form['description']} | {cells} |\n"
        return found[1] + rows

    def record(self, found: re.Match[str]) -> str:
        """Render the fields of a record anew, those that must be there first."""
        if found[2] not in self._definitions:
            return found[0]
        known = {name: (hint, value) for name, hint, value in FIELD.findall(found[3])}
        lines = []
        for name, form in self.fields(found[2]).items():
            hint, value = _hint(name, form), known.get(name, ("", "None"))[1]
            if value and form.get("type") == "array":
                value = "()"
            if value == "None" or known.get(name, ("",))[0].endswith("None"):
                hint += " | None"
            lines.append(f"    {name}: {hint}{value and f' = {value}'}\n")
        return found[1] + "".join(sorted(lines, key=lambda line: " = " in line))


def _hint(name: str, form: Form) -> str:
    """Return the Python type of a field."""
    kind = form.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if name.endswith("_at"):
        return "Address"
    if kind == "integer":
        return "Ns" if name.endswith("_ns") else "Count" if name == "count" else "int"
    if kind == "array":
        return "Stack" if name.endswith("stack") else "tuple[str, ...]"
    return "str"


def rendered(tree: Path) -> dict[Path, str]:
    """Return what the files shall hold."""
    contract = Contract((tree / SCHEMA).read_text())
    return {
        PAGE: TABLE.sub(contract.table, (tree / PAGE).read_text()),
        RECORDS: RECORD.sub(contract.record, (tree / RECORDS).read_text()),
    }


if __name__ == "__main__":
    sys.exit(rendering.main(__doc__, SCHEMA, rendered))
