# SPDX-License-Identifier: GPL-2.0-only
"""rendering: write what a program of this folder renders, or check that it is there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]


def main(about: str, source: Path, rendered: Callable[[Path], dict[Path, str]]) -> int:
    """Write the files, or name those that differ; return the program's status.

    about     the program's docstring
    source    what the files are rendered from, in the tree
    rendered  what the files of a tree shall hold
    """
    program = Path(sys.argv[0]).name
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=form)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    found = rendered(TREE)
    stale = {
        path
        for path, text in found.items()
        if not (TREE / path).exists() or (TREE / path).read_text() != text
    }
    if not options.check:
        for path in stale:
            (TREE / path).write_text(found[path])
    elif stale:
        names = " ".join(map(str, sorted(stale)))
        print(f"{names}: differ from {source}; run docs/{program}")
        return 1
    return 0
