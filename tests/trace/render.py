# SPDX-License-Identifier: GPL-2.0-only
"""render: run a program of docs/ that renders files, here or in a copy of the tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from support import PROJECT

SHARED = "docs/rendering.py"


def run(tree: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / program), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def copy(tree: Path, names: Iterable[str]) -> Path:
    """The files in a tree of their own, with what all programs share."""
    for name in (*names, SHARED):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tree / name)
    return tree


def assert_no_unknown_word_writes(tree: Path, program: str, changed: str) -> None:
    """A file that differs stays as it is, whatever word is no option of the program."""
    before = (tree / changed).read_text()
    for words, status in ((["--help"], 0), (["--nonsense"], 2), (["word"], 2)):
        assert run(tree, program, *words).returncode == status
    assert (tree / changed).read_text() == before
