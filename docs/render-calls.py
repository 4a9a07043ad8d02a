#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""render-calls: render docs/calls.toml as SystemTap's table, names and documents.

usage: docs/render-calls.py [--check]

Writes stap/tapset/call_table.stp, the names of `call` in docs/events.schema.json,
the table of calls in docs/events.md and analysis/writestall/events/calls.py. --check
writes nothing: its status is 1 where one of them differs. bpf/core makes a table of its
own when it is built.
"""

from __future__ import annotations

import re
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import rendering

TABLE = Path("docs/calls.toml")
STAP = Path("stap/tapset/call_table.stp")
SCHEMA = Path("docs/events.schema.json")
PAGE = Path("docs/events.md")
RECORDS = Path("analysis/writestall/events/calls.py")
Row = dict[str, Any]

SOURCE = "docs/render-calls.py writes it from docs/calls.toml"
# The columns that are places of arguments.
ARGUMENTS = ("fd", "also", "folder", "name", "bytes", "vector", "offset")
FLAGS = ("address", "exact", "entry")
# What `file` says, as fields of a C struct.
FILES = {
    "released": [".stack = true"],
    "closed": [".stack = true", ".flushes = true"],
    "shared": [".stack = true", ".shared = true"],
}
ENUM = re.compile(r'("call_name": \{.*?"enum": \[\n)(.*?)(\n      \])', re.DOTALL)
ROWS = re.compile(r"^(\| `--call` .*\n\| --- .*\n)((?:\| .*\n)+)", re.MULTILINE)


def load(tree: Path) -> dict[str, Row]:
    """Return the calls by name."""
    table = tomllib.loads((tree / TABLE).read_text())
    return {name: row for part in table.values() for name, row in part.items()}


def _is_call(row: Row) -> bool:
    """Whether its arguments are those of a system call."""
    return bool(row["nr"] < 1000)


def _c_row(name: str, row: Row) -> str:
    fields = [f'.call = "{name}"', f".nr = {row['nr']}"]
    fields += [f".{key} = {row[key]}" for key in ARGUMENTS if key in row]
    fields += [".position = true"] if "place" in row else []
    fields += FILES.get(row.get("file", ""), [])
    fields += [f".{word} = true" for word in FLAGS if word in row]
    return f"\t{{ {', '.join(fields)} }}, \\\n"


def stap(calls: dict[str, Row]) -> str:
    """Render the table as initialisers of struct cl_kind."""
    rows = "".join(_c_row(*item) for item in calls.items())
    return f"""// SPDX-License-Identifier: GPL-2.0-only
// call_table.stp (embedded C): list the calls of a file system and their arguments
//
// {SOURCE}.

%{{
#define CL_KINDS \\
{rows}
%}}

// Called before the functions of calls.stp, so that this file's C stands before theirs.
function call_table()
%{{
%}}
"""


def _filled(names: list[str], indent: int, columns: int) -> str:
    """Return quoted names with commas between, in lines."""
    text = ", ".join(f'"{name}"' for name in names)
    return textwrap.indent(textwrap.fill(text, columns - indent), " " * indent)


def records(groups: dict[str, list[str]], requests: list[str]) -> str:
    """Render the groups, and what is no system call, as Python."""
    rows = "".join(
        f'    "{group}": (\n{_filled(names, 8, 87)},\n    ),\n'
        for group, names in groups.items()
    )
    return f'''# SPDX-License-Identifier: GPL-2.0-only
"""calls: list the calls of a file system by group, by the names that events have.

{SOURCE}.
"""

from __future__ import annotations

# fmt: off
GROUPS: dict[str, tuple[str, ...]] = {{
{rows}}}
# Requests and faults: no system calls.
NO_SYSTEM_CALLS = (
{_filled(requests, 4, 87)},
)
# fmt: on
'''


def rendered(tree: Path) -> dict[Path, str]:
    """Return what the files shall hold."""
    calls = load(tree)
    groups: dict[str, list[str]] = {}
    for name, row in calls.items():
        groups.setdefault(row["group"], []).append(name)
    requests = [
        name
        for name, row in calls.items()
        if not _is_call(row) and row["group"] != "requests"
    ]
    rows = "".join(
        f"| `{group}` | {', '.join(f'`{name}`' for name in names)} |\n"
        for group, names in groups.items()
    )
    schema, page = (tree / SCHEMA).read_text(), (tree / PAGE).read_text()
    return {
        STAP: stap(calls),
        SCHEMA: ENUM.sub(
            lambda found: found[1] + _filled(list(calls), 8, 92) + found[3], schema
        ),
        RECORDS: records(groups, requests),
        PAGE: ROWS.sub(lambda found: found[1] + rows, page),
    }


if __name__ == "__main__":
    sys.exit(rendering.main(__doc__, TABLE, rendered))
