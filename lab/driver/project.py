# SPDX-License-Identifier: GPL-2.0-only
"""project: where the checkout is, and how its other programs are called."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from machine.commands import said
from writestall_base.errors import UserError

PROJECT = Path(__file__).resolve().parents[2]


def importing(*folders: str) -> dict[str, str]:
    """The environment of a Python that imports from base, the analysis and these."""
    paths = [str(PROJECT / name) for name in ("base", "analysis", *folders)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def tool(path: str, *arguments: str) -> list[str]:
    """The command line of one of the project's own programs."""
    return [sys.executable, str(PROJECT / path), *arguments]


def answer(path: str, *arguments: str) -> str:
    """What one of our programs prints; its refusal is raised in its own words."""
    done = said(tool(path, *arguments))
    if done.returncode:
        raise UserError((done.stderr.strip().splitlines() or [f"{path} failed"])[-1])
    return done.stdout.strip()
