#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""check-schema: find lines of tracers' output that break the event schema.

check-schema.py FILE.jsonl... Needs jsonschema; runs anywhere, no kernel needed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).resolve().parents[2] / "docs/events.schema.json"


def complaints(path: Path, validator: Any) -> list[str]:
    """One line for each event that violates the schema, and for an empty stream."""
    found = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        for error in validator.iter_errors(json.loads(line)):
            where = ".".join(str(part) for part in error.absolute_path)
            found.append(f"{path}:{number}: {where}: {error.message[:200]}")
    if not lines:
        found.append(f"{path}: empty")
    return found


def main(names: list[str]) -> int:
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        print("check-schema: not run: jsonschema is missing (pip install jsonschema)")
        return 2
    if not names:
        print("check-schema: which files?")
        return 2
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    found = [line for name in names for line in complaints(Path(name), validator)]
    print("\n".join(found) or f"check-schema: ok, {len(names)} streams")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
