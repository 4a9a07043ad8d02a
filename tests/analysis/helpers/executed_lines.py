# SPDX-License-Identifier: GPL-2.0-only
"""executed_lines: count the lines of the package that a call executes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import writestall

PACKAGE = str(Path(writestall.__file__).parent)


def lines_run(call: Callable[[], object]) -> int:
    """Lines of the package that a call executes, each iteration of a loop counted."""
    count = 0

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return inside

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        return inside if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
