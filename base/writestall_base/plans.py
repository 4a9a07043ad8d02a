# SPDX-License-Identifier: GPL-2.0-only
"""plans: read the plan of a comparison (docs/compare.md).

Machines of a comparison write to its folder, and folders come from strangers: no name
in a plan leads out of its folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from writestall_base import files
from writestall_base.errors import UserError

FILE = "plan.json"
FORMAT = 1
Plan = dict[str, Any]


def read(folder: Path) -> Plan:
    """The plan of a comparison's folder; UserError where there is none."""
    file = folder / FILE
    try:
        plan = json.loads(files.content(file))
        if plan["format"] != FORMAT:
            raise UserError(
                f"{file}: format {plan['format']!r}, this version reads {FORMAT}"
            )
        names = {row["name"] for row in plan["options"]}
        for row in plan["options"]:
            _ = row["name"], row["what"], row["filesystem"]["type"]
            if row.get("against", row["name"]) not in names:
                raise UserError(f"{file}: {row['against']} is not one of its options")
        for row in plan.get("kernels", ()):
            _ = row["name"], row["given"]
        _ = int(plan["rounds"]), int(plan["duration_s"]), plan["profile"]["name"]
        _ = plan["workload"]["name"], list(plan["loads"])
        for cell in plan["cells"]:
            _ = cell["option"], cell["load"], int(cell["round"])
        for path, parts in _paths(plan):
            if not _is_below(path, parts):
                raise UserError(f"{file}: {path!r} leads out of its folder")
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; not a comparison") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{file}: not a plan ({type(error).__name__})") from None
    return dict(plan)


def cut_options(plan: Plan) -> list[str]:
    """The options whose machines are cut: those with a disk and losses of their own."""
    return [
        row["name"]
        for row in plan["options"]
        if row["filesystem"]["type"] != "tmpfs"
        and not (row.get("repeats") or row.get("crash"))
    ]


def earlier(folder: Path, inputs: str) -> Path:
    """Where a comparison keeps what was found with other inputs: by their hash."""
    return folder / "earlier" / hashlib.sha256(inputs.encode()).hexdigest()[:12]


def _paths(plan: Plan) -> Iterator[tuple[str, int]]:
    """What is a path below a comparison's folder, and of how many parts."""
    for row in plan["options"]:
        yield row["name"], 1
        yield row.get("crash", row["name"]), 1
    for cell in plan["cells"]:
        yield cell["name"], 2
        if "scenario" in cell:
            yield cell["scenario"], 3


def _is_below(path: str, parts: int) -> bool:
    found = path.split("/")
    return len(found) == parts and not {"", ".", ".."} & set(found)
