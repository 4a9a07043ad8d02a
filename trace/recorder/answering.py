# SPDX-License-Identifier: GPL-2.0-only
"""answering: explain the recording on this host, where it has the libraries."""

from __future__ import annotations

import os
import subprocess
import sys

from recorder.run_folder import RunFolder
from writestall_base import TREE, files

NAME = "answer.txt"
SOURCES = [str(TREE / "base"), str(TREE / "analysis")]
TOP = "3"  # chains that are printed
ELSEWHERE = (
    "no answer here: python3-msgspec and python3-jinja2 are missing; install them, or"
    " copy {run} to another machine: writestall report {run}"
)


def _modules(python: str) -> list[str]:
    """Folders of modules: all that this process has, if it is the Python that has the
    libraries (a package keeps some of them in a folder of its own)."""
    return sys.path if python == sys.executable else SOURCES


def answer(run: RunFolder, python: str | None) -> tuple[str, bool]:
    """Return the answer, or why there is none, and whether there is one.

    It is saved in the run, and the page with it. The run is the program's folder, which
    nobody can replace, and no place of its modules (-P).
    """
    if python is None:
        return ELSEWHERE.format(run=run.path), False
    command = [python, "-P", "-m", "writestall", "explain", ".", "--report"]
    done = subprocess.run(
        [*command, "--top", TOP],
        cwd=run.pinned,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(_modules(python))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["explain failed"]
        return lines[-1], False
    files.save_inside(run.pinned, NAME, done.stdout.encode())
    return done.stdout.rstrip("\n"), True
