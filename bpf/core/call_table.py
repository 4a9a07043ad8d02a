#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""call_table: print docs/calls.toml as the initialisers of struct call (calls.h)."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

Row = dict[str, Any]
ARGUMENTS = ("fd", "also", "folder", "name", "bytes", "vector", "offset")
FLAGS = ("address", "exact", "entry")
# What `file` says, as fields of struct call.
FILES = {
    "released": [".stack = true"],
    "closed": [".stack = true", ".flushes = true"],
    "shared": [".stack = true", ".shared = true"],
}
# From here on a system call has one number on all architectures
# (include/uapi/asm-generic/unistd.h, "do not add to this file").
UNIFORM = 424


def initialiser(name: str, row: Row) -> str:
    """Render a call; one that this architecture has not is left out."""
    is_own = row["nr"] < UNIFORM
    number = f"__NR_{name}" if is_own else str(row["nr"])
    function = row.get("function", name)
    fields = [f'.name = "{name}"', f'.function = "{function}"']
    fields += [f'.group = "{row["group"]}"', f".number = {number}"]
    fields += [
        f".argument[HOW_{key.upper()}] = {row[key]}" for key in ARGUMENTS if key in row
    ]
    fields += [".position = true"] if "place" in row else []
    fields += FILES.get(row.get("file", ""), [])
    fields += [f".{word} = true" for word in FLAGS if word in row]
    fields += [f".keep = KEEP_{row['keep'].upper()}"] if "keep" in row else []
    text = f"{{ {', '.join(fields)} }},\n"
    return f"#ifdef {number}\n{text}#endif\n" if is_own else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, metavar="TOML", help="docs/calls.toml")
    parts = tomllib.loads(parser.parse_args().table.read_text())
    for part in parts.values():
        print("".join(initialiser(name, row) for name, row in part.items()), end="")


if __name__ == "__main__":
    main()
