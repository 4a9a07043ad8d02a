# SPDX-License-Identifier: GPL-2.0-only
"""progress: print the steps of a run to stderr, as text or as JSON.

If stderr is gone (a closed pipe, a terminal that hung up), the run continues, or is
undone, without output.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

MODES = ("text", "json", "none")


def say(line: str, end: str = "\n") -> None:
    """Print a line to stderr; ignore a closed one."""
    with suppress(OSError):
        print(line, end=end, file=sys.stderr, flush=True)


class Progress:
    """Prints each step when it begins and when it ends."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._live = mode == "text" and sys.stderr.isatty()

    def begin(self, step: str) -> None:
        """Print that a step begins."""
        self._json({"step": step, "status": "begin"})
        if self._live:
            say(f"    ...    {step}", end="\r")

    def end(self, step: str, status: str, dur_ns: int, detail: str) -> None:
        """Print that a step ended; status is ok, failed or skipped."""
        self._json({"step": step, "status": status, "dur_ns": dur_ns, "detail": detail})
        if self._mode == "text" and status != "skipped":
            mark = "FAILED: " if status == "failed" else ""
            say(f"{dur_ns / 1e9:8.1f} s {step:<15} {mark}{detail}".rstrip())

    def _json(self, line: dict[str, Any]) -> None:
        if self._mode == "json":
            say(json.dumps(line))
