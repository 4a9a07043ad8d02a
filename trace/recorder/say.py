# SPDX-License-Identifier: GPL-2.0-only
"""say: keep record's messages out of the command's output.

The output of a COMMAND is its own: beside one, lines go to a terminal or nowhere, and
the answer to a file of the run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from writestall_base.progress import say


@dataclass(frozen=True)
class Voice:
    """Where lines go: `silent` if what they go to may be the COMMAND's alone."""

    silent: bool

    @staticmethod
    def beside(command: list[str]) -> Voice:
        """The voice beside a command, or beside none."""
        return Voice(bool(command) and not sys.stderr.isatty())

    def say(self, line: str) -> None:
        """Print a line of progress."""
        if not self.silent:
            say(f"record: {line}")
