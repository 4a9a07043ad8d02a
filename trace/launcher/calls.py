# SPDX-License-Identifier: GPL-2.0-only
"""calls: read docs/calls.toml, the calls that the tracers know."""

from __future__ import annotations

import tomllib
from typing import Any

from launcher.errors import TraceError
from writestall_base import TREE

MASK_BITS = 32  # of one of a script's variables only_calls_N
Row = dict[str, Any]


def _load() -> dict[str, Row]:
    table = tomllib.loads((TREE / "docs/calls.toml").read_text())
    return {name: row for part in table.values() for name, row in part.items()}


CALLS = _load()
NAMES = {row["nr"]: name for name, row in CALLS.items()}
GROUPS = tuple(dict.fromkeys(row["group"] for row in CALLS.values()))


def masks(words: str) -> dict[str, int | str]:
    """Return the variables that choose calls and groups, given with commas between."""
    chosen = {f"only_calls_{at // MASK_BITS}": 0 for at in range(len(CALLS))}
    for word in words.split(","):
        if word not in CALLS and word not in GROUPS:
            groups = ", ".join(GROUPS)
            raise TraceError(
                f"--call {word}: no call of a file system; docs/events.md lists them,"
                f" or give a group: {groups}"
            )
        for at, (name, row) in enumerate(CALLS.items()):
            if word in (name, row["group"]):
                chosen[f"only_calls_{at // MASK_BITS}"] |= 1 << at % MASK_BITS
    return dict(chosen)
