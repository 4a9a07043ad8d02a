# SPDX-License-Identifier: GPL-2.0-only
"""joined: join the plans of several folders to one comparison.

What would make runs of one round differ besides option and kernel has to agree. Each
option is named after its folder's kernel or, where kernels agree, after its folder. It
is compared with itself in the first folder or, if that does not have it, with its own
folder's baseline, beside which it ran.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from writestall_base import files
from writestall_base.errors import UserError

# What has to agree, by its key in a plan.
AGREE = {
    "profile": "disk",
    "workload": "workload",
    "duration_s": "duration",
    "seed": "seed",
    "aged_percent": "age",
    "loads": "loads",
}


def plan(paths: Sequence[Path], plans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The plan of all folders; cells of all but the first are named by whole paths.

    Raises UserError for what cannot be compared, by its name.
    """
    for path, other in zip(paths[1:], plans[1:], strict=True):
        _refuse_different(paths[0], plans[0], path, other)
    kernels = _kernels(paths, plans)
    labels = kernels or [path.resolve().name for path in paths]
    if len(set(labels)) < len(labels):
        raise UserError(f"{paths[-1]}: folders of one kernel need different names")
    rows: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    for path, each, label in zip(paths, plans, labels, strict=True):
        known = {row["name"]: row for row in rows}
        found = [_row(row, path, label) for row in each["options"]]
        if rows:
            found = [row for row in found if not row["repeats"]]
            found = [row | _against(row, found, known, labels[0]) for row in found]
        rows += [row | {"kernel": label} if kernels else row for row in found]
        names = {row["name"] for row in found}
        cells += [cell for cell in _cells(each, path, label) if cell["option"] in names]
    longest = max(plans, key=lambda each: (each["rounds"], len(each.get("looks", ()))))
    return plans[0] | {
        "rounds": longest["rounds"],
        "looks": longest.get("looks", [longest["rounds"]]),
        "added": longest.get("added", []),
        "options": rows,
        "cells": cells,
        "folders": [str(path) for path in paths],
    }


def _named(name: str, label: str) -> str:
    return f"{name}@{label}"


def _row(row: dict[str, Any], path: Path, label: str) -> dict[str, Any]:
    """An option's row under its new name; `crash` is where its cuts are."""
    repeats = row.get("repeats")
    return row | {
        "name": _named(row["name"], label),
        "repeats": _named(repeats, label) if repeats else None,
        "crash": str(path.resolve() / "crash" / row["name"]),
    }


def _cells(each: dict[str, Any], path: Path, label: str) -> list[dict[str, Any]]:
    """The cells of a folder, by the options' new names and whole paths."""
    return [
        cell
        | {
            "option": _named(cell["option"], label),
            "name": str(path.resolve() / cell["name"]),
        }
        for cell in each["cells"]
    ]


def _against(
    row: dict[str, Any],
    beside: Sequence[dict[str, Any]],
    first: Mapping[str, Any],
    label: str,
) -> dict[str, str]:
    """What an option of another folder than the first is compared with."""
    same = _named(row["name"].partition("@")[0], label)
    if same in first:
        return {"against": same}
    return {"against": beside[0]["name"]} if row is not beside[0] else {}


def _refuse_different(
    one_path: Path, one: dict[str, Any], other_path: Path, other: dict[str, Any]
) -> None:
    for path, each in ((one_path, one), (other_path, other)):
        for what in ("kernels", "severities"):
            if each.get(what):
                why = f"compares several {what} by itself; show it alone"
                raise UserError(f"{path}: {why}")
    for key, what in AGREE.items():
        if one.get(key) != other.get(key):
            values = (_said(each.get(key)) for each in (other, one))
            raise UserError(
                f"{other_path}: its {what} is {next(values)}, that of {one_path} is"
                f" {next(values)}; make both with one {what}"
            )


def _said(value: Any) -> str:
    """A value of a plan in a message: a table by its name."""
    return str(value.get("name", "another")) if isinstance(value, dict) else str(value)


def _kernels(paths: Sequence[Path], plans: Sequence[dict[str, Any]]) -> list[str]:
    """The kernels of the folders, if each has one of its own: `6.12`, or the whole
    release where that is not enough."""
    found = [_kernel(path, each) for path, each in zip(paths, plans, strict=True)]
    short = [".".join(release.split(".")[:2]) for release in found]
    for names in (short, found):
        if len(set(names)) == len(names):
            return names
    return []


def _kernel(path: Path, each: dict[str, Any]) -> str:
    """The kernel of a folder's runs; refuse a folder without one."""
    for cell in each["cells"]:
        try:
            manifest = json.loads(files.content(path / cell["name"] / "manifest.json"))
            return str(manifest["kernel"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
    raise UserError(f"{path}: no run of it names its kernel")
