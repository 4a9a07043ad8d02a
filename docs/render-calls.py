#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""render-calls: render docs/calls.toml as the tables of the engines.

usage: docs/render-calls.py [--check]

Writes stap/tapset/call_table.stp, bpf/lib/call_table.bt, bpf/core/call_table.h, the
names of `call` in docs/events.schema.json, the table of calls in docs/events.md and
analysis/writestall/events/calls.py. --check writes nothing: its status is 1 where one
of them differs.
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
BPF = Path("bpf/lib/call_table.bt")
CORE = Path("bpf/core/call_table.h")
SCHEMA = Path("docs/events.schema.json")
PAGE = Path("docs/events.md")
RECORDS = Path("analysis/writestall/events/calls.py")
Row = dict[str, Any]

SOURCE = "docs/render-calls.py writes it from docs/calls.toml"
# The columns that are places of arguments, in the order of their bits in `how`.
ARGUMENTS = ("fd", "also", "folder", "name", "bytes", "vector", "offset")
# Where the first argument and those behind it are in struct pt_regs, in words: di, si,
# dx, r10, r8, r9 (arch/x86/include/asm/ptrace.h).
WORDS = (14, 13, 12, 7, 9, 8)
BITS = 4  # of one argument in `how`
POSITION, STACK, KNOWN, SHARED = (1 << BITS * len(ARGUMENTS) + bit for bit in range(4))
# What `file` says, as fields of a C struct and as bits.
FILES = {
    "released": ([".stack = true"], STACK),
    "shared": ([".stack = true", ".shared = true"], STACK | SHARED),
}
NO_FILE: tuple[list[str], int] = ([], 0)
# From here on a system call has one number on all architectures
# (include/uapi/asm-generic/unistd.h, "do not add to this file").
UNIFORM = 424
MASK_BITS = 32  # of one word of --call
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
    fields += FILES.get(row.get("file", ""), NO_FILE)[0]
    fields += [".exact = true"] if "exact" in row else []
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


def how(row: Row) -> int:
    """Pack a row into the bits that bpf/lib/calls.bt reads."""
    bits = KNOWN
    for place, key in enumerate(ARGUMENTS):
        if key in row:
            word = WORDS[row[key] - 1] if _is_call(row) else 1
            bits |= word << BITS * place
    bits |= POSITION if "place" in row else 0
    return bits | FILES.get(row.get("file", ""), NO_FILE)[1]


def bpf(calls: dict[str, Row]) -> str:
    """Render the table as a macro that fills a map."""
    text = f"""// SPDX-License-Identifier: GPL-2.0-only
// call_table.bt: list the calls of a file system and their arguments
//
// {SOURCE}; calls.bt reads the bits.

macro fill_calls(@calls) {{
"""
    rows = list(calls.items())
    masks = range(0, len(rows), MASK_BITS)
    names = [f"only_calls_{number}" for number, _ in enumerate(masks)]
    for name in names:
        text += f'\t${name} = (uint64)getopt("{name}", 0);\n'
    text += f"\t$all = ({' | '.join(f'${name}' for name in names)}) == 0;\n"
    for at, (name, row) in enumerate(rows):
        chosen = f"(${names[at // MASK_BITS]} >> {at % MASK_BITS}) & 1"
        entry = f"@calls[(int64){row['nr']}] = (uint64){how(row):#x};"
        text += f"\tif ($all || ({chosen}) == 1) {{ {entry} }} // {name}\n"
    return text + "}\n"


def _core_row(name: str, row: Row) -> str:
    """Render a call as C; one that this architecture has not is left out."""
    is_own = _is_call(row) and row["nr"] < UNIFORM
    number = f"__NR_{name}" if is_own else str(row["nr"])
    fields = [f'.name = "{name}"', f'.group = "{row["group"]}"', f".number = {number}"]
    fields += [
        f".argument[HOW_{key.upper()}] = {row[key]}" for key in ARGUMENTS if key in row
    ]
    fields += [".position = true"] if "place" in row else []
    fields += FILES.get(row.get("file", ""), NO_FILE)[0]
    fields += [".exact = true"] if "exact" in row else []
    text = f"{{ {', '.join(fields)} }},\n"
    return f"#ifdef {number}\n{text}#endif\n" if is_own else text


def core(calls: dict[str, Row]) -> str:
    """Render the table as initialisers of struct call."""
    rows = "".join(_core_row(*item) for item in calls.items())
    return f"""/* SPDX-License-Identifier: GPL-2.0-only */
/* call_table.h: list the calls of a file system and their arguments */

/* {SOURCE}; included where struct call is. */

{rows}"""


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
        BPF: bpf(calls),
        CORE: core(calls),
        SCHEMA: ENUM.sub(
            lambda found: found[1] + _filled(list(calls), 8, 92) + found[3], schema
        ),
        RECORDS: records(groups, requests),
        PAGE: ROWS.sub(lambda found: found[1] + rows, page),
    }


if __name__ == "__main__":
    sys.exit(rendering.main(__doc__, TABLE, rendered))
