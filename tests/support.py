# SPDX-License-Identifier: GPL-2.0-only
"""support: find the project and its kernels, run its programs, for every test."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import recipe

PROJECT = Path(__file__).resolve().parents[1]
EVERY = os.environ.get("WRITESTALL_EVERY_KERNEL") == "1"
# A kernel of one's own, by its path: the only one that is tested then.
OWN = os.environ.get("WRITESTALL_KERNEL")
# Whether those run that `make test` leaves to `make test-all`.
ON_DEMAND = EVERY or bool(OWN) or os.environ.get("WRITESTALL_ON_DEMAND") == "1"
KERNELS = (OWN,) if OWN else recipe.tested(every=EVERY)
DEFAULT = OWN or recipe.load().kernel
Run = Callable[..., subprocess.CompletedProcess[str]]


def kernel_name(kernel: str) -> str:
    """The name of a kernel in results: the release of one's own, such as 6.12.99, which
    is no kernel of the image.
    """
    own = recipe.load(kernel).own
    return own.release if own else kernel


def module(path: str) -> Any:
    """A module of a folder that is not a package, such as a launcher."""
    name = "_".join(Path(path).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, PROJECT / path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def imports(path: Path) -> set[str]:
    """All modules that a Python file imports, and the names from them."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def tool(
    path: str, *arguments: str, limit_s: float = 900
) -> subprocess.CompletedProcess[str]:
    """Run one of the project's programs to its end, output captured."""
    return subprocess.run(
        [sys.executable, str(PROJECT / path), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )
