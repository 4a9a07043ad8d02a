#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""render-locks: render the rules of who holds what as docs/locks.md.

usage: PYTHONPATH=base:analysis docs/render-locks.py [--check]

The rules are analysis/writestall/log/holders. --check writes nothing: its status is 1
where the page differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import rendering

PAGE = Path("docs/locks.md")
RULES = Path("analysis/writestall/log/holders")


def rendered(tree: Path) -> dict[Path, str]:
    """The page of a tree."""
    # needs the libraries of the analysis, which --help does without
    import lock_table

    return {PAGE: lock_table.page(tree)}


if __name__ == "__main__":
    sys.exit(rendering.main(__doc__ or "", RULES, rendered))
