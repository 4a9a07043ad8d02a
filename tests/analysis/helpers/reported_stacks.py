# SPDX-License-Identifier: GPL-2.0-only
"""reported_stacks: read the stacks of public bug reports, where they are present.

The texts are other people's and no part of this tree: WRITESTALL_STACKS names the file,
else it is looked for in a folder `shared` beside the project.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[4] / "shared" / "stacks.jsonl"
STACKS = Path(os.environ.get("WRITESTALL_STACKS", BESIDE))


def reported_cases() -> list[dict[str, Any]]:
    """The labelled stacks; skip the test where they are not there."""
    if not STACKS.is_file():
        pytest.skip(f"no {STACKS.name} beside the project; WRITESTALL_STACKS names it")
    return [json.loads(line) for line in STACKS.read_text().splitlines()]
