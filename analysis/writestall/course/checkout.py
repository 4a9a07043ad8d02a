# SPDX-License-Identifier: GPL-2.0-only
"""checkout: where the checkout has its scenarios and recorded runs."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import writestall
from writestall_base.errors import UserError

PACKAGE = Path(writestall.__file__).resolve().parent
# Where runs are kept that were recorded.
_RECORDED = ("docs/course/runs", "tests/data/runs", "tests/data/scenarios")


def root() -> Path:
    """The checkout; raise where the package is installed without one."""
    folder = PACKAGE.parents[1]
    if not (folder / "repro/scenarios").is_dir():
        raise UserError(
            "course: start and answer need a clone of the tree, where you run"
            " ./writestall course; see docs/install.md"
        )
    return folder


def program() -> Path:
    """The program of the checkout."""
    return root() / "writestall"


def scenario(name: str) -> Path:
    """A scenario's file."""
    return root() / "repro/scenarios" / f"{name}.toml"


def recorded(name: str) -> Path:
    """A run that was recorded."""
    kept = (root() / folder / name for folder in _RECORDED)
    found = next(filter(Path.is_dir, chain([PACKAGE / name], kept)), None)
    if found is None:
        raise UserError(f"{name}: no such recorded run in {', '.join(_RECORDED)}")
    return found
