# SPDX-License-Identifier: GPL-2.0-only
"""answering: explain the recording on this host, where it has the libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from labrun import TREE

NAME = "answer.txt"
TOP = "3"  # chains that are printed
ELSEWHERE = (
    "no answer here: python3-msgspec and python3-jinja2 are missing; install them, or"
    " copy {run} to another machine: writestall report {run}"
)


def _modules(python: str) -> list[str]:
    """Folders of modules: all that this process has, if it is the Python that has the
    libraries (a package keeps some of them in a folder of its own)."""
    return sys.path if python == sys.executable else [str(TREE / "analysis")]


def answer(run: Path, python: str | None) -> tuple[str, bool]:
    """Return the answer, or why there is none, and whether there is one.

    It is saved in the run, and the page with it.
    """
    if python is None:
        return ELSEWHERE.format(run=run), False
    command = [python, "-m", "writestall", "explain", str(run), "--report"]
    done = subprocess.run(
        [*command, "--top", TOP],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(_modules(python))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["explain failed"]
        return lines[-1], False
    (run / NAME).write_text(done.stdout)
    return done.stdout.rstrip("\n"), True
