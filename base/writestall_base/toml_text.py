# SPDX-License-Identifier: GPL-2.0-only
"""toml_text: render a table as TOML."""

from __future__ import annotations

import json
import re
from typing import Any


def file(table: dict[str, Any]) -> str:
    """Return the text of a file, a line for each key of the table."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    """Format a value as TOML in one line; JSON's strings and numbers are valid TOML."""
    if isinstance(value, dict):
        pairs = (f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
