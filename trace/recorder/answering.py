# SPDX-License-Identifier: GPL-2.0-only
"""answering: explain the recording on this host, where it has the libraries."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from labrun import TREE

NAME = "answer.txt"
TOP = "3"  # chains that are printed
ELSEWHERE = (
    "no answer here: python3-msgspec and python3-jinja2 are missing; install them, or"
    " copy {run} to another machine: writestall report {run}"
)


def answer(run: Path, python: str | None) -> tuple[str, bool]:
    """Return the answer, or why there is none, and whether there is one.

    It is saved in the run, and the page with it.
    """
    if python is None:
        return ELSEWHERE.format(run=run), False
    command = [python, "-m", "writestall", "explain", str(run), "--report"]
    done = subprocess.run(
        [*command, "--top", TOP],
        env=os.environ | {"PYTHONPATH": str(TREE / "analysis")},
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
